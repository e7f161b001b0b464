"""The kinds of new projects."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.rules.problem import PathPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What differs between the kinds of projects, besides the templates in the folder of the kind."""

    instance_type: str
    count: int
    nodes: tuple[PathPart, ...]
    """The mapping in fleet.yaml that has instance type and number."""
    type_key: str
    count_key: str


KINDS: Mapping[str, Kind] = {
    "hyperpod": Kind(
        instance_type="ml.g5.2xlarge",
        count=2,
        nodes=("clusters", "train", "groups", "workers"),
        type_key="type",
        count_key="count",
    ),
    "parallelcluster": Kind(
        instance_type="g5.2xlarge",
        count=4,
        nodes=("clusters", "train", "queues", "workers"),
        type_key="type",
        count_key="max",
    ),
    "inference": Kind(
        instance_type="inf2.xlarge",
        count=2,
        nodes=("services", "chat"),
        type_key="instance",
        count_key="count",
    ),
}
DEFAULT_KIND = "hyperpod"
