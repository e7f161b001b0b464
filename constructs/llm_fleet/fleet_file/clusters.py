"""The clusters of a fleet file: beside their descriptions, what they name of the rest of the fleet."""

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
from llm_fleet.spec.people import ClusterUser, Directory
from llm_fleet.spec.slurm_database import Accounting, AccountingDatabase
from llm_fleet.spec.values import InFile, RoleArn, wrong_value

LOCAL_ACCOUNTING = "local"
"""What a user writes for the HyperPod controller's own database; `in_long_form` reads it as nothing."""

FLEET_DATABASE = "slurm_database"
"""What a user writes for the fleet's own database: the key of it under `storage`."""


MADE_BY_THE_FLEET = "made-by-the-fleet"
MADE_SECRET_ARN = f"arn:aws:secretsmanager:us-west-2:111122223333:secret:{MADE_BY_THE_FLEET}"
"""Good values, so that the rules find nothing to say of what no user has written."""


def read_word(written: Any, fleets_own: FleetModel) -> Any:
    """Return `fleets_own` for the word of the fleet's own database, and anything else as it is.

    Refuses a word that is most like it.
    """
    if written == FLEET_DATABASE:
        return fleets_own
    if not isinstance(written, str) or nearest(written, (FLEET_DATABASE, LOCAL_ACCOUNTING)) != FLEET_DATABASE:
        return written
    raise wrong_value(
        Code.NOT_A_CHOICE,
        "this is none of the words that may stand here",
        allowed=f"{FLEET_DATABASE}, or a mapping of keys to values",
        remedy=f"write `accounting: {FLEET_DATABASE}`",
    )


class AccountingConfig(AccountingDatabase):
    """A MySQL-compatible database for slurmdbd. It needs Continuous provisioning and can never be taken away again."""

    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own."""


class FleetAccounting(AccountingConfig):
    """The fleet's own database: what a user writes as the word `slurm_database`. Its values are the stack's to know."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else as it is."""
        return read_word(written, cls.model_construct(endpoint=MADE_BY_THE_FLEET, secret=MADE_SECRET_ARN))


AnyAccounting = Annotated[AccountingConfig, BeforeValidator(FleetAccounting.read)]
"""A database of the user's, or the word for the fleet's own."""


class Removal(StrEnum):
    """What becomes of a thing when its stack is deleted."""

    DESTROY = "destroy"
    RETAIN = "retain"


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class NodeSetupModel(ClusterSpec, NamedModel):
    """A cluster of any kind, as far as nodes are set up alike. Its key is its name, unless `name` says otherwise."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type. Its key is the default.
    cluster_name: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, InFile(str | None), Field(alias="name", json_schema_extra=_without_default)
    ] = ""
    """The cluster's name. Default: its key in this file."""
    reads: tuple[str, ...] = ()
    """Buckets that nodes may read: names under `storage.buckets`, or `s3://<bucket>`. Default: none.

    Where an existing bucket has a KMS key of its own, that key's policy must let the nodes' role use it."""
    writes: tuple[str, ...] = ()
    """Buckets that nodes may read and write, named likewise. Default: none."""
    removal: Removal = Removal.DESTROY
    """What becomes of the cluster when its stack is deleted. Default: it goes; the data is in the file system."""
    kind: Literal["hyperpod", "parallelcluster"]
    """What runs the cluster. Each kind has its own word."""

    _fleet_users: Mapping[str, ClusterUser] = PrivateAttr(default={})
    _fleet_directory: Directory | None = PrivateAttr(default=None)

    def join(self, users: Mapping[str, ClusterUser], directory: Directory | None) -> None:
        """Take in the people of the whole fleet; for the fleet, once it is read."""
        self._fleet_users, self._fleet_directory = users, directory

    @property
    def people(self) -> Mapping[str, ClusterUser]:
        """Everybody whom nodes make: the fleet's users and its own, who say more of the former where both have them."""
        return {**self._fleet_users, **{user.name: user for user in self.users}}

    @property
    def requested_directory(self) -> Directory | None:
        """The directory that its nodes ask: its own, else the fleet's."""
        return self.directory or self._fleet_directory

    @property
    def of_fleet(self) -> Mapping[str, Any]:
        """What its nodes are set up with together with the fleet: fields of its description, for `narrowed`."""
        return {"users": tuple(self.people.values()), "directory": self.requested_directory}

    def called(self, name: str) -> None:
        """Take `name`, which AWS knows it by unless `name` was written."""
        super().called(name)
        if not self.cluster_name:
            object.__setattr__(self, "cluster_name", name)
            self.model_fields_set.discard("cluster_name")


def _or_words(schema: dict[str, Any]) -> None:
    words = {"enum": [LOCAL_ACCOUNTING, FLEET_DATABASE]}
    schema["anyOf"] = [arm if arm.get("type") != "null" else words for arm in schema["anyOf"]]


class HyperPodConfig(HyperPodClusterSpec, NodeSetupModel):
    """A SageMaker HyperPod cluster with Slurm. Its key is the cluster's name, unless `name` says otherwise."""

    written_as: ClassVar[Mapping[str, str]] = {
        "mounts": "groups",
        "lifecycle_source_s3_uri": "scripts",
    }
    other_words: ClassVar[Mapping[str, str]] = {
        "InstanceGroups": "write `groups`; `llm-fleet import` turns a whole request into a fleet file",
        "instance_groups": "write `groups`",
        "controller": "write it as a group of `role: controller` under `groups`",
        "workers": "write each as a group of `role: compute` under `groups`",
        **dict.fromkeys(
            ("head", "queues", "login"),
            "it is of `kind: parallelcluster`; a HyperPod cluster has all nodes in `groups`",
        ),
    }

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    kind: Literal["hyperpod"] = Field(examples=["hyperpod"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """What runs the cluster."""
    accounting_database: AnyAccounting | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default=None, alias="accounting", examples=[LOCAL_ACCOUNTING], json_schema_extra=_or_words
    )
    """Where Slurm's accounting is kept: `slurm_database`, the fleet's, or another one. Default: `local`, the
    controller's own."""
    execution_role_arn: RoleArn | None = Field(default=None, alias="execution_role")
    """ARN of the role that nodes act with. Default: one is made, with what the features in use need."""

    @property
    def node_count(self) -> int:
        """How many nodes it has."""
        return sum(group.count for group in self.groups)


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


_REPORTING = frozenset({"HeadNode", "Scheduling", "SharedStorage", "LoginNodes"})


def is_parallelcluster(data: Any) -> bool:
    """Return whether `data` is a configuration as `pcluster create-cluster` takes it."""
    return isinstance(data, Mapping) and "fleet" not in data and not _REPORTING.isdisjoint(data)  # pyright: ignore


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


AnyCluster = Annotated[HyperPodConfig | ParallelClusterConfig, Field(discriminator=KIND)]
"""A cluster of either kind, told by its `kind`."""
