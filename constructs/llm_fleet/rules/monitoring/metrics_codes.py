"""The stable codes of what is measured on nodes, and where it goes. LF1150 to LF1179."""

from llm_fleet.rules.any_code import AnyCode


class MetricsCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
