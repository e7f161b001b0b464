"""What to write, in the words of the fleet file: rules name the attributes of the construct."""

import re
from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.parallelcluster.choices import Capacity
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.config.parallelcluster.compute_resource import ComputeResourceConfig
from llm_fleet.config.parallelcluster.head_node import HeadNodeConfig
from llm_fleet.config.parallelcluster.login_pool import LoginPoolConfig
from llm_fleet.config.parallelcluster.queue import QueueConfig
from llm_fleet.config.parallelcluster.slurm import SlurmConfig
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel

_MODELS: tuple[type[FleetModel], ...] = (
    QueueConfig,
    ComputeResourceConfig,
    HeadNodeConfig,
    LoginPoolConfig,
    SlurmConfig,
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
