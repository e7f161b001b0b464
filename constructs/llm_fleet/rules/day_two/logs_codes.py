"""The stable codes of `llm-fleet logs`, `events`, `upgrade` and `bundle`. LF1120 to LF1149."""

from llm_fleet.rules.any_code import AnyCode


class LogsCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
