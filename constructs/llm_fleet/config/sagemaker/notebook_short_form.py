"""What a user may write of a notebook in short, written out: `repositories: [https://…]`, `idle: never`."""

from typing import Any, cast

from llm_fleet.config.sagemaker.notebook_values import NEVER


def notebook_in_long_form(notebook: Any) -> Any:
    """Return `notebook` with each short form written out; what is of another form stays as it is."""
    if not isinstance(notebook, dict):
        return notebook
    written = cast("dict[str, Any]", notebook)
    readers = {"repositories": _repositories, "idle": _idle}
    return {key: readers[key](value) if key in readers else value for key, value in written.items()}


def _repositories(written: Any) -> Any:
    if not isinstance(written, list):
        return written
    return [{"url": one} if isinstance(one, str) else one for one in cast("list[Any]", written)]


def _idle(written: Any) -> Any:
    return None if written == NEVER else written
