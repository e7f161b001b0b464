"""The stable codes of what stands between a fleet file and its deployment in an account. LF1020 to LF1079."""

from llm_fleet.rules.any_code import AnyCode


class CheckCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""
