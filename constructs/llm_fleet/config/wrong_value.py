"""How a reader of one value tells pydantic what is wrong, without losing what is allowed and how to mend it."""

from pydantic_core import PydanticCustomError

from llm_fleet.rules.codes import Code


def wrong_value(code: Code, message: str, *, remedy: str, allowed: str = "") -> PydanticCustomError:
    """Return the error to raise from a validator; `explain` turns it into a `Problem` again."""
    told = {"code": code.value, "message": message, "allowed": allowed, "remedy": remedy}
    return PydanticCustomError("fleet", "{message}", told)
