"""The clusters of a fleet file: their descriptions, with references to the rest of the fleet."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from llm_fleet.catalog.parallelcluster import gone
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import nearest
from llm_fleet.spec.cluster import ClusterSpec, NodeScripts
from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec
from llm_fleet.spec.model import KIND, FleetModel, NamedModel, WithPaths
from llm_fleet.spec.parallelcluster import ParallelClusterSpec
from llm_fleet.spec.parallelcluster_queue import Capacity
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.slurm_database import Accounting, AccountingDatabase
from llm_fleet.spec.values import InFile, RoleArn, wrong_value

LOCAL_ACCOUNTING = "local"
"""The word for the database on HyperPod's controller; `in_long_form` reads it as `None`."""

FLEET_DATABASE = "slurm_database"
"""The word for the fleet's own database, which is its key under `storage`."""


MADE_BY_THE_FLEET = "made-by-the-fleet"
MADE_SECRET_ARN = f"arn:aws:secretsmanager:us-west-2:111122223333:secret:{MADE_BY_THE_FLEET}"
"""Valid values, so that the rules report nothing about values that no user has written."""


def read_word(written: Any, fleets_own: FleetModel) -> Any:
    """Return `fleets_own` for the word of the fleet's own database, and anything else unchanged.

    Raises an error for a word that is similar to it.
    """
    if written == FLEET_DATABASE:
        return fleets_own
    if not isinstance(written, str) or nearest(written, (FLEET_DATABASE, LOCAL_ACCOUNTING)) != FLEET_DATABASE:
        return written
    raise wrong_value(
        Code.NOT_A_CHOICE,
        "unknown value for `accounting`",
        allowed=f"{FLEET_DATABASE}, or a mapping of keys to values",
        remedy=f"write `accounting: {FLEET_DATABASE}`",
    )


class AccountingConfig(AccountingDatabase):
    """A MySQL-compatible database for slurmdbd. It requires Continuous provisioning and can never be removed."""

    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own."""


class FleetAccounting(AccountingConfig):
    """The fleet's own database, in the file the word `slurm_database`. Its values are resolved at deployment."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else unchanged."""
        return read_word(written, cls.model_construct(endpoint=MADE_BY_THE_FLEET, secret=MADE_SECRET_ARN))


AnyAccounting = Annotated[AccountingConfig, BeforeValidator(FleetAccounting.read)]
"""A database of the user's, or the word for the fleet's own."""


class Removal(StrEnum):
    """What happens to a resource when its stack is deleted."""

    DESTROY = "destroy"
    RETAIN = "retain"


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class NodeSetupModel(ClusterSpec, NamedModel):
    """A cluster of either kind: settings that nodes share. Its key is its name, unless `name` is set."""

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type. Its key is the
    # default.
    cluster_name: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, InFile(str | None), Field(alias="name", json_schema_extra=_without_default)
    ] = ""
    """The cluster's name. Default: its key in this file."""
    reads: tuple[str, ...] = ()
    """Buckets that nodes may read: names under `storage.buckets`, or `s3://<bucket>`. Default: none.

    If an existing bucket has its own KMS key, the key policy must let the nodes' role use it."""
    writes: tuple[str, ...] = ()
    """Buckets that nodes may read and write, written in the same way. Default: none."""
    removal: Removal = Removal.DESTROY
    """What happens to the cluster when its stack is deleted. Default: it is deleted; the data stays in the file
    system."""
    kind: Literal["hyperpod", "parallelcluster"]
    """Platform of the cluster. Each kind has its own value."""

    _fleet_users: Mapping[str, ClusterUser] = PrivateAttr(default={})
    _fleet_directory: Directory | None = PrivateAttr(default=None)

    def join(self, users: Mapping[str, ClusterUser], directory: Directory | None) -> None:
        """Add the users and the directory of the fleet. The fleet calls this after reading the file."""
        self._fleet_users, self._fleet_directory = users, directory

    @property
    def people(self) -> Mapping[str, ClusterUser]:
        """All users of its nodes: the fleet's and its own; its own settings override those of the fleet."""
        return {**self._fleet_users, **{user.name: user for user in self.users}}

    @property
    def requested_directory(self) -> Directory | None:
        """The directory of its nodes: its own, otherwise the fleet's."""
        return self.directory or self._fleet_directory

    @property
    def of_fleet(self) -> Mapping[str, Any]:
        """Settings of its nodes that include those of the fleet: fields of its description, for `narrowed`."""
        return {"users": tuple(self.people.values()), "directory": self.requested_directory}

    def called(self, name: str) -> None:
        """Set the name to that key, unless `name` is set."""
        super().called(name)
        if not self.cluster_name:
            object.__setattr__(self, "cluster_name", name)
            self.model_fields_set.discard("cluster_name")


def _or_words(schema: dict[str, Any]) -> None:
    words = {"enum": [LOCAL_ACCOUNTING, FLEET_DATABASE]}
    schema["anyOf"] = [arm if arm.get("type") != "null" else words for arm in schema["anyOf"]]


class HyperPodConfig(HyperPodClusterSpec, NodeSetupModel):
    """A SageMaker HyperPod cluster with Slurm. Its key is the cluster's name, unless `name` is set."""

    written_as: ClassVar[Mapping[str, str]] = {
        "mounts": "groups",
        "lifecycle_source_s3_uri": "scripts",
    }
    other_words: ClassVar[Mapping[str, str]] = {
        "InstanceGroups": "write `groups`; `llm-fleet import` converts a whole request into a fleet file",
        "instance_groups": "write `groups`",
        "controller": "write it as a group of `role: controller` under `groups`",
        "workers": "write each as a group of `role: compute` under `groups`",
        **dict.fromkeys(
            ("head", "queues", "login"),
            "it is a key of `kind: parallelcluster`; a HyperPod cluster has all nodes in `groups`",
        ),
    }

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    kind: Literal["hyperpod"] = Field(examples=["hyperpod"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """Platform of the cluster."""
    accounting_database: AnyAccounting | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, alias="accounting", examples=[LOCAL_ACCOUNTING], json_schema_extra=_or_words
    )
    """Where Slurm's accounting data is stored: `slurm_database` (the fleet's own) or another database. Default:
    `local`, a database on the controller."""
    execution_role_arn: RoleArn | None = Field(default=None, alias="execution_role")
    """ARN of the execution role of its nodes. Default: a role is created with the permissions that the enabled features
    need."""

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return sum(group.count for group in self.groups)


class SlurmAccountingConfig(Accounting):
    """A MySQL-compatible database for slurmdbd on the head node, an external slurmdbd, or only a munge key."""

    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own database."""


class FleetSlurmAccounting(SlurmAccountingConfig):
    """The fleet's own database, in the file the word `slurm_database`. Its values are resolved at deployment."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else unchanged."""
        return read_word(written, cls.model_construct(endpoint=MADE_BY_THE_FLEET, password_secret=MADE_SECRET_ARN))


def or_fleet_database(schema: dict[str, Any]) -> None:
    """Add the word for the fleet's own database to the schema."""
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": FLEET_DATABASE} for arm in schema["anyOf"]]


AnySlurmAccounting = Annotated[SlurmAccountingConfig, BeforeValidator(FleetSlurmAccounting.read)]
"""Accounting of the user's, or the word for the fleet's own database."""


_IMPORT = "`llm-fleet import` converts a whole ParallelCluster configuration into a fleet file"


class ParallelClusterConfig(ParallelClusterSpec, NodeSetupModel, WithPaths):
    """An AWS ParallelCluster with Slurm. Its key is the cluster's name, unless `name` is set."""

    written_as: ClassVar[Mapping[str, str]] = {capacity.type.value: capacity.value for capacity in Capacity}
    other_words: ClassVar[Mapping[str, str]] = {
        "HeadNode": "write `head`",
        "head_node": "write `head`",
        "Scheduling": f"write `queues` and `slurm`; {_IMPORT}",
        "SlurmQueues": f"write `queues`, by name; {_IMPORT}",
        "SlurmSettings": "write `slurm`",
        "LoginNodes": "write `login`",
        "login_pools": "write `login`",
        "SharedStorage": "write `storage`, by name; the fleet's `fsx` and `home` are always mounted",
        "Image": "write `os`, and `image` for a custom AMI",
        "Region": "write `region` of the fleet",
        "Monitoring": "write `detailed_monitoring` and `logs`",
        "Tags": "write `tags: {key: value}`",
        "groups": "a ParallelCluster has `head`, `queues` and `login`; `groups` are HyperPod's",
        "controller": "write `head`",
        "workers": "write each as a queue under `queues`",
    }

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    kind: Literal["parallelcluster"] = Field(examples=["parallelcluster"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """Platform of the cluster."""
    accounting: AnySlurmAccounting | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, examples=[FLEET_DATABASE], json_schema_extra=or_fleet_database
    )
    """Where Slurm's accounting data is stored: `slurm_database` (the fleet's own), another database, or an external
    slurmdbd. Default: none."""
    scripts: NodeScripts = NodeScripts()  # pyright: ignore[reportIncompatibleVariableOverride]
    """Steps that nodes run when they start. Default: llm-fleet's own steps."""
    deployed: str | None = None
    """A file with the deployed configuration, relative to the fleet file, against which changes are checked. Default:
    none.

    It is the stack's template, from `aws cloudformation get-template`, or a ParallelCluster YAML file."""

    @property
    def deployed_path(self) -> Path | None:
        """Path of `deployed` for the running process; `None` for none."""
        return None if self.deployed is None else self.path_of(self.deployed)


_REPORTING = frozenset({"HeadNode", "Scheduling", "SharedStorage", "LoginNodes"})


def is_parallelcluster(data: Any) -> bool:
    """Return whether `data` is a configuration for `pcluster create-cluster`."""
    return isinstance(data, Mapping) and "fleet" not in data and not _REPORTING.isdisjoint(data)  # pyright: ignore


def no_fleet_file(data: Mapping[str, Any], subject: str) -> list[Problem]:
    """Return the errors for such a configuration in place of a fleet file, including operating systems that were
    dropped."""
    image: Any = data.get("Image")
    os = str(image.get("Os", "")) if isinstance(image, Mapping) else ""  # pyright: ignore
    problems = [
        Problem(
            code=Code.PARALLELCLUSTER_FILE,
            message="this is a configuration of ParallelCluster, not a fleet file",
            remedy=f"convert it: `llm-fleet import {subject} --region <region> -o fleet.yaml`",
        )
    ]
    died = gone("oses").get(os.casefold())
    if died is not None:
        problems.append(
            Problem(
                code=Code.PC_OS,
                message=f"ParallelCluster does not support {os} since {died.since}",
                remedy=f"`llm-fleet import` replaces it with {died.instead}",
                path=("Image", "Os"),
                value=os,
            )
        )
    return problems


AnyCluster = Annotated[HyperPodConfig | ParallelClusterConfig, Field(discriminator=KIND)]
"""A cluster of either kind; its `kind` decides the class."""
