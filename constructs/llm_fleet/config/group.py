"""An instance group of a HyperPod cluster."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, PrivateAttr

from llm_fleet.config.auto_patch import AutoPatchConfig
from llm_fleet.config.choices import Lifecycle, Role
from llm_fleet.config.named import NamedModel
from llm_fleet.config.schedule import ScheduleConfig
from llm_fleet.config.types import Gibibytes, InstanceTypeName
from llm_fleet.rules.terms import DeepHealthCheck, LifecycleHook, NodeType

SCRIPTS = {LifecycleHook.ON_CREATE: "on_create.sh", LifecycleHook.ON_INIT_COMPLETE: "on_init_complete.sh"}
"""The entry points of the lifecycle bundle."""


class GroupConfig(NamedModel):
    """A group of like instances. Its key is the instance group's name."""

    written_as: ClassVar[Mapping[str, str]] = {
        "node_type": "role",
        "on_create": "lifecycle",
        "on_init_complete": "lifecycle",
    }

    role: Role = Field(examples=["compute"])
    """What its nodes do in Slurm. A cluster has one controller group and at most one login group."""
    instance_type: InstanceTypeName | None = Field(default=None, alias="type", examples=["ml.trn1.32xlarge"])
    """The instance type, with its `ml.`. A group has either `type` or `types`."""
    instance_types: tuple[InstanceTypeName, ...] = Field(default=(), alias="types")
    """Several types, the most wanted first; HyperPod takes what it can get. Needs Continuous provisioning."""
    count: int = Field(examples=[1])
    """How many instances."""
    min_count: int | None = None
    """How many must be there for the cluster to come up. Needs Continuous provisioning. Default: no minimum."""
    partition: str | None = None
    """Slurm partition of its nodes; every compute group has one, no other group may."""
    threads_per_core: int | None = None
    """1 turns hyper-threading off. Default: as the instance type has it."""
    lifecycle: Lifecycle | None = None
    """When its nodes run the lifecycle bundle. Default: as the cluster says."""
    ebs_volume_gib: Gibibytes | None = Field(default=None, alias="ebs")
    """A second EBS volume, mounted at /opt/sagemaker, e.g. `500 GiB`. Default: none."""
    root_volume_kms_key: str | None = Field(default=None, alias="root_volume_key")
    """ARN of the KMS key that encrypts the root volume. Default: the service's own key."""
    deep_health_checks: tuple[DeepHealthCheck, ...] = ()
    """Stress tests that a node passes before it joins. Default: none."""
    training_plan_arn: str | None = Field(default=None, alias="training_plan")
    """ARN of the training plan to take the capacity from. Default: on-demand capacity."""
    training_plan_availability_zone_id: str | None = Field(default=None, alias="training_plan_az")
    """AZ id of the training plan; its ARN does not hold it, and the group must stand there. Default: not checked."""
    spot: bool = False
    """Whether its nodes come from spot capacity. Default: on-demand capacity."""
    image_id: str | None = Field(default=None, alias="image")
    """A custom image, `ami-…`, or `default`. Default: HyperPod's own."""
    image_release_version: str | None = Field(default=None, alias="image_release")
    """A release of HyperPod's own image, e.g. `1.2.3`. Default: the newest."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id of its compute subnet. Default: the cluster's."""
    override_subnet_ids: tuple[str, ...] = Field(default=(), alias="subnets")
    """Subnets of its own, by id. Default: those of the network."""
    override_security_group_ids: tuple[str, ...] = Field(default=(), alias="security_groups")
    """Security groups of its own, by id, with `subnets`. Default: that of the network."""
    scheduled_update: ScheduleConfig | None = Field(default=None, alias="schedule")
    """When its nodes are brought to the newest image. Default: never by themselves."""
    auto_patch: AutoPatchConfig | None = None
    """How its nodes are patched by HyperPod. Default: not by itself."""

    _cluster_lifecycle: Lifecycle = PrivateAttr(default=Lifecycle.ON_INIT_COMPLETE)

    def adopt(self, lifecycle: Lifecycle) -> None:
        """Take the cluster's word where the group has none; for the cluster, once it is read."""
        self._cluster_lifecycle = lifecycle

    @property
    def node_type(self) -> NodeType:
        """The role, in the API's word."""
        return self.role.node_type

    @property
    def lifecycle_hook(self) -> LifecycleHook | None:
        """When its nodes run the lifecycle bundle, by its own or the cluster's word; `None` for never."""
        return (self.lifecycle or self._cluster_lifecycle).hook

    @property
    def on_create(self) -> str | None:
        """File of the bundle that runs in place of the AMI's configuration."""
        return SCRIPTS[LifecycleHook.ON_CREATE] if self.lifecycle_hook is LifecycleHook.ON_CREATE else None

    @property
    def on_init_complete(self) -> str | None:
        """File of the bundle that runs after it."""
        hook = LifecycleHook.ON_INIT_COMPLETE
        return SCRIPTS[hook] if self.lifecycle_hook is hook else None
