"""Values that survive the way to ParallelCluster's provider."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, cast

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem


def check_plain_values(configuration: Mapping[str, Any]) -> list[Problem]:
    """Return each date in `configuration`, where YAML or Python made one of what was meant as text.

    The provider falls over a date, and CloudFormation has none: `serialize` in custom_resource/cluster.yaml of
    aws/aws-parallelcluster names a module that it does not import.
    """
    return [
        Problem(
            code=Code.PC_DATE,
            message="this is a date, and ParallelCluster's configuration has only text, numbers and yes or no",
            value=str(value),
            path=path,
            remedy=f"write it as text: '{value}'",
        )
        for path, value in _values(configuration, ())
        if isinstance(value, date)
    ]


def _values(value: Any, path: tuple[PathPart, ...]) -> Iterator[tuple[tuple[PathPart, ...], Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _values(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(cast("Sequence[Any]", value)):
            yield from _values(item, (*path, index))
    else:
        yield path, value
