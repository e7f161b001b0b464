"""A ParallelCluster in a fleet file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from llm_fleet.catalog.parallelcluster import gone
from llm_fleet.fleet_file.accounting import FLEET_DATABASE, MADE_BY_THE_FLEET, MADE_SECRET_ARN, read_word
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import WithPaths
from llm_fleet.spec.node_setup import NodeScripts
from llm_fleet.spec.parallelcluster import ParallelClusterSpec
from llm_fleet.spec.slurm_database import Accounting


class SlurmAccountingConfig(Accounting):
    """A MySQL-compatible database for slurmdbd on the head node, a slurmdbd elsewhere, or a munge key alone."""

    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own database."""


class FleetSlurmAccounting(SlurmAccountingConfig):
    """The fleet's own database: what a user writes as the word `slurm_database`. Its values are the stack's to know."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else as it is."""
        return read_word(written, cls.model_construct(endpoint=MADE_BY_THE_FLEET, password_secret=MADE_SECRET_ARN))


def or_fleet_database(schema: dict[str, Any]) -> None:
    """Tell an editor of the word for the fleet's own database."""
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": FLEET_DATABASE} for arm in schema["anyOf"]]


AnySlurmAccounting = Annotated[SlurmAccountingConfig, BeforeValidator(FleetSlurmAccounting.read)]
"""Accounting of the user's, or the word for the fleet's own database."""


_IMPORT = "`llm-fleet import` turns a whole ParallelCluster configuration into a fleet file"


class ParallelClusterConfig(ParallelClusterSpec, NodeSetupModel, WithPaths):
    """An AWS ParallelCluster with Slurm. Its key is the cluster's name, unless `name` says otherwise."""

    other_words: ClassVar[Mapping[str, str]] = {
        "HeadNode": "write `head`",
        "head_node": "write `head`",
        "Scheduling": f"write `queues` and `slurm`; {_IMPORT}",
        "SlurmQueues": f"write `queues`, by name; {_IMPORT}",
        "SlurmSettings": "write `slurm`",
        "LoginNodes": "write `login`",
        "login_pools": "write `login`",
        "SharedStorage": "write `storage`, by name; the fleet's `fsx` and `home` are mounted anyhow",
        "Image": "write `os`, and `image` for an image of your own",
        "Region": "write `region` of the fleet",
        "Monitoring": "write `detailed_monitoring` and `logs`",
        "Tags": "write `tags: {key: value}`",
        "groups": "a ParallelCluster has `head`, `queues` and `login`; `groups` are HyperPod's",
        "controller": "write `head`",
        "workers": "write each as a queue under `queues`",
    }

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    kind: Literal["parallelcluster"] = Field(examples=["parallelcluster"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """What runs the cluster."""
    accounting: AnySlurmAccounting | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, examples=[FLEET_DATABASE], json_schema_extra=or_fleet_database
    )
    """Where Slurm's accounting is kept: `slurm_database`, the fleet's, another, or a slurmdbd. Default: none."""
    scripts: NodeScripts = NodeScripts()  # pyright: ignore[reportIncompatibleVariableOverride]
    """Which steps nodes take when they start. Default: those that llm-fleet ships."""
    deployed: str | None = None
    """A file with what is deployed, from where this file lies, by which each change is judged. Default: none.

    It is the stack's template, as `aws cloudformation get-template` gives it, or a ParallelCluster YAML."""

    @property
    def deployed_path(self) -> Path | None:
        """Where `deployed` is, as seen from the process; `None` for none."""
        return None if self.deployed is None else self.path_of(self.deployed)


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
