"""The stable codes of `llm-fleet nodes` and `connect`. LF1100 to LF1119."""

from llm_fleet.rules.any_code import AnyCode


class NodesCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
