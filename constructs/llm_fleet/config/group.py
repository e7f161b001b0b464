"""An instance group of a HyperPod cluster."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, PrivateAttr

from llm_fleet.catalog.data_file import load
from llm_fleet.config.auto_patch import AutoPatchConfig
from llm_fleet.config.choices import Lifecycle, NetworkInterface, Role
from llm_fleet.config.schedule import ScheduleConfig
from llm_fleet.rules.terms import DeepHealthCheck, LifecycleHook, NodeType
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Gibibytes, InstanceTypeName, KeyArn, RoleArn


def entry_points() -> Mapping[str, str]:
    """Return the entry points of the lifecycle bundle by hook."""
    return load("lifecycle")["entry_points"]


class GroupConfig(NamedModel):
    """A group of like instances. Its key is the instance group's name."""

    written_as: ClassVar[Mapping[str, str]] = {"node_type": "role", "ebs_volume_key": "ebs_key"}
    other_words: ClassVar[Mapping[str, str]] = {
        "image_release": "CloudFormation cannot set it; use `aws sagemaker update-cluster-software`, or an `image`",
        DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION: "CloudFormation cannot set it; start it with "
        "`aws sagemaker start-cluster-health-check`",
        "InstanceCount": "write `count`",
        "InstanceType": "write `type`",
        "InstanceGroupName": "write the name as the group's key, in front of its colon",
        "LifeCycleConfig": "write `lifecycle`, and `scripts` of the cluster for scripts of your own",
        "SlurmConfig": "write `role` and `partition`",
        "name": "write the name as the group's key, in front of its colon",
        "nodes": "write `count`",
        "instances": "write `count`",
        "partitions": "write `partition`: HyperPod takes one for each group",
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
    own_on_create: str | None = Field(default=None, alias="on_create")
    """A script of the bundle that runs in place of the AMI's configuration. Default: by `lifecycle`."""
    own_on_init_complete: str | None = Field(default=None, alias="on_init_complete")
    """A script of the bundle that runs after the AMI's configuration. Default: by `lifecycle`."""
    ebs_volume_gib: Gibibytes | None = Field(default=None, alias="ebs")
    """A second EBS volume, mounted at /opt/sagemaker, e.g. `500 GiB`. Default: none."""
    ebs_volume_kms_key: KeyArn | None = Field(default=None, alias="ebs_key")
    """ARN of the KMS key that encrypts the second volume. Default: a key that AWS owns."""
    root_volume_kms_key: KeyArn | None = Field(default=None, alias="root_volume_key")
    """ARN of the KMS key that encrypts the root volume. Default: a key that AWS owns."""
    mount_lustre: bool = Field(default=True, alias="mount_fsx")
    """Whether its nodes mount the fleet's FSx for Lustre. Default: yes."""
    mount_open_zfs: bool = Field(default=True, alias="mount_home")
    """Whether its nodes mount the fleet's OpenZFS home. Default: yes."""
    deep_health_checks: tuple[Literal[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY], ...] = ()
    """Stress tests that a node passes before it joins; they take an hour or more. Default: none."""
    training_plan_arn: str | None = Field(default=None, alias="training_plan")
    """ARN of the training plan to take the capacity from. Default: on-demand capacity."""
    training_plan_availability_zone_id: str | None = Field(default=None, alias="training_plan_az")
    """AZ id of the training plan; its ARN does not hold it, and the group must stand there. Default: not checked."""
    spot: bool = False
    """Whether its nodes come from spot capacity. Default: on-demand capacity."""
    image_id: str | None = Field(default=None, alias="image")
    """A custom image, `ami-…`, or `default`. Default: HyperPod's own."""
    network_interface: NetworkInterface | None = None
    """What kind of EFA interface its nodes get. Default: the service chooses by instance type."""
    availability_zone_id: str | None = Field(default=None, alias="az")
    """AZ id of its compute subnet. Default: the cluster's."""
    override_subnet_ids: tuple[str, ...] = Field(default=(), alias="subnets")
    """Subnets of its own, by id. Default: those of the network."""
    override_security_group_ids: tuple[str, ...] = Field(default=(), alias="security_groups")
    """Security groups of its own, by id, with `subnets`. Default: that of the network."""
    execution_role_arn: RoleArn | None = Field(default=None, alias="execution_role")
    """ARN of the role that its nodes act with. Default: the cluster's."""
    scheduled_update: ScheduleConfig | None = Field(default=None, alias="schedule")
    """When its nodes are brought to the newest image. Default: never by themselves."""
    auto_patch: AutoPatchConfig | None = None
    """How its nodes are patched by HyperPod. Default: not by itself."""

    _cluster_lifecycle: Lifecycle = PrivateAttr(default=Lifecycle.ON_INIT_COMPLETE)

    _entry: str | None = PrivateAttr(default=None)

    def adopt(self, lifecycle: Lifecycle, entry_point: str | None) -> None:
        """Take the cluster's word where the group has none; for the cluster, once it is read."""
        self._cluster_lifecycle = lifecycle
        self._entry = entry_point

    @property
    def node_type(self) -> NodeType:
        """The role, in the API's word."""
        return self.role.node_type

    @property
    def lifecycle_hook(self) -> LifecycleHook | None:
        """When its nodes run the bundle's own entry point, by its own or the cluster's word; `None` for never."""
        if self.own_on_create is not None or self.own_on_init_complete is not None:
            return None
        return (self.lifecycle or self._cluster_lifecycle).hook

    @property
    def own_script(self) -> str | None:
        """The script that it names itself, in place of the bundle's entry point."""
        return self.own_on_create or self.own_on_init_complete

    @property
    def on_create(self) -> str | None:
        """File of the bundle that runs in place of the AMI's configuration."""
        return self.own_on_create or self._entry_point(LifecycleHook.ON_CREATE)

    @property
    def on_init_complete(self) -> str | None:
        """File of the bundle that runs after it."""
        return self.own_on_init_complete or self._entry_point(LifecycleHook.ON_INIT_COMPLETE)

    @property
    def image_release_version(self) -> str | None:
        """Left to HyperPod: on Slurm, CloudFormation cannot set it."""
        return None

    def _entry_point(self, hook: LifecycleHook) -> str | None:
        return self._entry or entry_points()[hook] if self.lifecycle_hook is hook else None
