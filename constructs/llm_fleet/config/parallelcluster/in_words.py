"""What to write, in the words of the fleet file: rules name the attributes of the construct."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.parallelcluster import SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Capacity, ComputeResource, Queue

_MODELS: tuple[type[FleetModel], ...] = (
    Queue,
    ComputeResource,
    HeadNode,
    LoginPool,
    SlurmSettings,
    ParallelClusterConfig,
)


def in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's keys for attributes in what is allowed and in the remedy."""
    return replace(problem, allowed=_translated(problem.allowed), remedy=_translated(problem.remedy))


def _translated(text: str) -> str:
    return _ATTRIBUTE.sub(lambda found: _KEYS[found[0]], text)


def _keys() -> Iterator[tuple[str, str]]:
    """Attributes whose keys are other words; only what no sentence has by chance."""
    for model in _MODELS:
        for attribute in (*model.model_fields, *model.written_as):
            if "_" in attribute and model.key_of(attribute) != attribute:
                yield attribute, model.key_of(attribute)
    for capacity in Capacity:
        yield capacity.type.value, capacity.value


_KEYS = dict(_keys())
_ATTRIBUTE = re.compile(rf"\b({'|'.join(sorted(_KEYS, key=len, reverse=True))})\b")
