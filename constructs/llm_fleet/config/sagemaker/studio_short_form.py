"""What a user may write in short of Studio, written out."""

from typing import Any, cast

from llm_fleet.config.sagemaker.notebook_values import NEVER


def studio_in_long_form(studio: Any) -> Any:
    """Return `studio` with `idle: never` as nothing; what is of another form stays as it is."""
    if not isinstance(studio, dict):
        return studio
    given = cast("dict[str, Any]", studio)
    return {**given, "idle": None} if given.get("idle") == NEVER else given
