"""One text where several belong: Python takes it for a list of its letters, and no type checker objects."""

from collections.abc import Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem


def check_not_bare(values: Sequence[str] | None, code: Code, *path: PathPart) -> list[Problem]:
    """Return a problem at `path` when `values` is one text instead of a list of texts."""
    if not isinstance(values, str):
        return []
    return [
        Problem(
            code=code,
            message="a list of texts should stand here, not one text",
            remedy="put it in brackets",
            path=path,
            # Shown in part: it may be a key.
            value=values if len(values) <= 20 else f"{values[:20]}…",
        )
    ]
