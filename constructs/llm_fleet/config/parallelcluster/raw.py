"""Tells a ParallelCluster configuration from a fleet file, for whoever mistakes one for the other."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster import gone
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_TELLING = frozenset({"HeadNode", "Scheduling", "SharedStorage", "LoginNodes"})


def is_parallelcluster(data: Any) -> bool:
    """Return whether `data` is a configuration as `pcluster create-cluster` takes it."""
    return isinstance(data, Mapping) and "fleet" not in data and not _TELLING.isdisjoint(data)  # pyright: ignore


def no_fleet_file(data: Mapping[str, Any], subject: str) -> list[Problem]:
    """Return what to say to a user who gives such a configuration as a fleet file; what died of it is told too."""
    image: Any = data.get("Image")
    os = str(image.get("Os", "")) if isinstance(image, Mapping) else ""  # pyright: ignore
    problems = [
        Problem(
            code=Code.PARALLELCLUSTER_FILE,
            message="this is a configuration of ParallelCluster, not a fleet file",
            remedy=f"turn it into one: `llm-fleet import {subject} --region <region> -o fleet.yaml`",
        )
    ]
    died = gone("oses").get(os.casefold())
    if died is not None:
        problems.append(
            Problem(
                code=Code.PC_OS,
                message=f"ParallelCluster has had no {os} since {died.since}",
                remedy=f"`llm-fleet import` writes {died.instead} in its place",
                path=("Image", "Os"),
                value=os,
            )
        )
    return problems
