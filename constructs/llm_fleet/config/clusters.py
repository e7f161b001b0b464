"""The kinds of clusters that a fleet can have."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.model import FleetModel
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig

KIND = "kind"

AnyCluster = Annotated[HyperPodConfig | ParallelClusterConfig, Field(discriminator=KIND)]
"""A cluster of either kind, told by its `kind`."""

KINDS: Mapping[str, type[FleetModel]] = {"hyperpod": HyperPodConfig, "parallelcluster": ParallelClusterConfig}
"""The models by the word of `kind`."""

_TELLING = {"groups": "hyperpod", "queues": "parallelcluster", "head": "parallelcluster"}
_OTHER_WORDS = {
    "pcluster": "parallelcluster",
    "aws-parallelcluster": "parallelcluster",
    "pc": "parallelcluster",
    "sagemaker": "hyperpod",
    "sagemaker-hyperpod": "hyperpod",
}


def likely_kind(cluster: Mapping[str, object]) -> str:
    """Return which kind a cluster without a right `kind` seems to be: by the word there, else by its keys."""
    written = str(cluster.get(KIND, "")).casefold()
    if written in _OTHER_WORDS:
        return _OTHER_WORDS[written]
    return next((kind for key, kind in _TELLING.items() if key in cluster), next(iter(KINDS)))
