"""The stable codes of alarms of clusters, who is told, and budgets. LF1180 to LF1199."""

from llm_fleet.rules.any_code import AnyCode


class AlarmCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
