"""How large a model is, told once: as numbers in the fleet file, or by the model's own config.json."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def check_shape_source(*, shape: object | None, config: str | None, unread: Sequence[Problem]) -> Iterator[Problem]:
    """Check that the size is told in one place, as numbers or by the file `config`, by these names.

    `unread`: what was wrong with that file.
    """
    if shape is not None and config is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`shape` says how large the model is, and `config` says it too",
            remedy="keep one of them",
            path=("config",),
            value=config,
        )
    yield from (replace(problem, path=("config",), value=config) for problem in unread)
