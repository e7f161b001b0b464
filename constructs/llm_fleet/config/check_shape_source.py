"""How large a model is, told once: as numbers in the fleet file, or by the model's own config.json."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


class TellsShape(Protocol):
    """What of the fleet file tells how large its model is."""

    @property
    def own_shape(self) -> object | None:
        """The numbers, by the key `shape`."""
        ...

    @property
    def config(self) -> str | None:
        """The file that they are read from."""
        ...

    @property
    def unread(self) -> Sequence[Problem]:
        """What was wrong with that file."""
        ...


def check_shape_source(told: TellsShape) -> Iterator[Problem]:
    """Check that `told` tells it in one place, and that the file could be read, by its attributes."""
    if told.own_shape is not None and told.config is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`shape` says how large the model is, and `config` says it too",
            remedy="keep one of them",
            path=("config",),
            value=told.config,
        )
    yield from (replace(problem, path=("config",), value=told.config) for problem in told.unread)
