"""The stable codes of `llm-fleet plan`. LF1080 to LF1099."""

from llm_fleet.rules.any_code import AnyCode


class PlanCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    # Of the picture, from the end of the range.
    NO_ASSEMBLY = ("LF1099", "a folder that is no synthesized cloud assembly")
