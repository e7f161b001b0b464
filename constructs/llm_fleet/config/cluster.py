"""A HyperPod cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from llm_fleet.config.accounting import AccountingConfig
from llm_fleet.config.choices import Lifecycle, Provisioning, Removal
from llm_fleet.config.downloads import DownloadsConfig
from llm_fleet.config.group import GroupConfig
from llm_fleet.config.named import NamedModel, name_entries
from llm_fleet.config.neuron import NeuronConfig
from llm_fleet.config.s3_mount import S3MountConfig
from llm_fleet.config.scripts import ScriptsConfig
from llm_fleet.config.user import UserConfig
from llm_fleet.config.values import RoleArn
from llm_fleet.rules.terms import NodeProvisioningMode, NodeRecovery, NodeReports, SlurmConfigStrategy

LOCAL_ACCOUNTING = "local"
"""What a user writes for the controller's own database; `build` reads it as nothing."""


def _or_local(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": LOCAL_ACCOUNTING} for arm in schema["anyOf"]]


class HyperPodConfig(NamedModel):
    """A SageMaker HyperPod cluster with Slurm. Its key is the cluster's name, unless `name` says otherwise."""

    written_as: ClassVar[Mapping[str, str]] = {
        "node_provisioning_mode": "provisioning",
        "cluster_name": "name",
        "mounts": "groups",
        "lifecycle_source_s3_uri": "scripts",
    }
    other_words: ClassVar[Mapping[str, str]] = {
        "InstanceGroups": "write `groups`; `llm-fleet import` turns a whole request into a fleet file",
        "instance_groups": "write `groups`",
        "controller": "write it as a group of `role: controller` under `groups`",
        "workers": "write each as a group of `role: compute` under `groups`",
    }

    kind: Literal["hyperpod"] = Field(examples=["hyperpod"])
    """What runs the cluster."""
    own_name: str | None = Field(default=None, alias="name")
    """The cluster's name. Default: its key in this file."""
    groups: Mapping[str, GroupConfig] = Field(
        examples=[{}, "{controller: {role: controller, type: ml.m5.xlarge, count: 1}}"]
    )
    """Its instance groups, by name."""
    provisioning: Provisioning = Provisioning.CONTINUOUS
    """How instances come up. Default: `Continuous`, the controller first, then what capacity there is."""
    node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    """Whether HyperPod replaces sick nodes by itself. Default: `Automatic`."""
    slurm_config_strategy: SlurmConfigStrategy | None = Field(default=None, alias="slurm_config")
    """Who owns slurm.conf. Default: `Merge`, which Continuous provisioning implies and will not have said."""
    accounting_database: AccountingConfig | None = Field(
        default=None, alias="accounting", examples=[LOCAL_ACCOUNTING], json_schema_extra=_or_local
    )
    """An external database for Slurm's accounting. Default: `local`, the controller's own."""
    users: Mapping[str, UserConfig] = {}
    """People by login name, with the same ids on every node. Default: the image's own user."""
    s3_mounts: tuple[S3MountConfig, ...] = ()
    """Buckets that nodes see as folders. Default: none."""
    neuron: NeuronConfig | None = None
    """The Neuron SDK that hosts carry. Default: whichever release the image has."""
    downloads: DownloadsConfig | None = None
    """What nodes may fetch when they start. Default: nothing but the lifecycle bundle."""
    lifecycle: Lifecycle = Lifecycle.ON_INIT_COMPLETE
    """When nodes run the lifecycle bundle. Default: `OnInitComplete`, after the AMI has configured Slurm."""
    scripts: ScriptsConfig = Field(default_factory=ScriptsConfig)
    """Where the lifecycle bundle comes from. Default: it is what llm-fleet ships."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start: `all`, `s3` (report and log, no metric, no event) or `none`.

    Default: `all`. In a network without internet an event needs `endpoints: [events]`."""
    execution_role_arn: RoleArn | None = Field(default=None, alias="execution_role")
    """ARN of the role that nodes act with. Default: one is made, with what the features in use need."""
    reads: tuple[str, ...] = ()
    """Buckets that nodes may read: names under `storage.buckets`, or `s3://<bucket>`. Default: none.

    Where an existing bucket has a KMS key of its own, that key's policy must let the nodes' role use it."""
    writes: tuple[str, ...] = ()
    """Buckets that nodes may read and write, named likewise. Default: none."""
    removal: Removal = Removal.DESTROY
    """What becomes of the cluster when its stack is deleted. Default: it goes; the data is in the file system."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id of its compute subnet. Default: that of the fleet's `fsx`, else the network's first."""
    tags: Mapping[str, str] = {}
    """Tags of the cluster, next to those of the fleet. Default: none."""

    @model_validator(mode="after")
    def _tell_groups(self) -> Self:
        name_entries(self.groups)
        name_entries(self.users)
        for group in self.groups.values():
            group.adopt(self.lifecycle, self.scripts.entry_point)
        return self

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        self.scripts.stand_in(directory)
        if self.downloads is not None:
            self.downloads.stand_in(directory)

    @property
    def cluster_name(self) -> str:
        """The name that AWS knows it by."""
        return self.own_name or self.name

    @property
    def node_provisioning_mode(self) -> NodeProvisioningMode | None:
        """`CONTINUOUS`, or `None` for all or nothing."""
        return self.provisioning.mode
