"""The stable codes of people on clusters. LF1200 to LF1229."""

from llm_fleet.rules.any_code import AnyCode


class PeopleCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
