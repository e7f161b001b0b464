"""An instance group of a HyperPod cluster, and how its nodes are updated."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, InstanceOf, WithJsonSchema

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.terms import (
    CapacityUnit,
    DeepHealthCheck,
    LifecycleHook,
    NodeType,
    OnDrainTimeout,
    PatchingStrategy,
)
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.references import ROLE, SECURITY_GROUP, SUBNET, Key, Role, SecurityGroup, Subnet
from llm_fleet.spec.spec import PYTHON_ONLY, InRequest, Spec, Within
from llm_fleet.spec.values import Gibibytes, InFile, InstanceTypeName, Seconds, Several, wrong_value


class SlurmRole(StrEnum):
    """Role of a group's nodes in Slurm, as values of the fleet file."""

    CONTROLLER = "controller"
    LOGIN = "login"
    COMPUTE = "compute"

    @property
    def node_type(self) -> NodeType:
        """The API's value."""
        return NodeType(self.value.capitalize())


class Lifecycle(StrEnum):
    """When nodes run the scripts of the lifecycle bundle."""

    ON_INIT_COMPLETE = "OnInitComplete"
    """After the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting."""
    ON_CREATE = "OnCreate"
    """Instead of the AMI's configuration."""
    NONE = "none"
    """Never: the AMI alone configures the node."""

    @property
    def hook(self) -> LifecycleHook | None:
        """The API's value; `None` for no script."""
        return None if self is Lifecycle.NONE else LifecycleHook(self.value)


class NetworkInterfaceType(StrEnum):
    """Type of EFA interface (`NetworkInterface.InterfaceType`). A test compares the values with botocore."""

    EFA = "efa"
    """EFA and the ENA device for IP."""
    EFA_ONLY = "efa-only"
    """EFA without IP traffic, so that these network cards use no address of the subnet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """How many nodes of a group an update replaces at the same time (`CapacitySizeConfig`)."""

    unit: CapacityUnit
    value: int
    """Nodes, or percent of the group, according to `unit`. At least 1."""

    @classmethod
    def nodes(cls, value: int) -> "BatchSize":
        """Return a batch of `value` nodes."""
        return cls(unit=CapacityUnit.INSTANCE_COUNT, value=value)

    @classmethod
    def percent(cls, value: int) -> "BatchSize":
        """Return a batch of `value` percent of the group."""
        return cls(unit=CapacityUnit.CAPACITY_PERCENTAGE, value=value)

    @classmethod
    def read(cls, written: Any) -> "BatchSize":
        """Read `2 nodes` or `25%` from a fleet file."""
        match = _BATCH.fullmatch(written.strip()) if isinstance(written, str) else None
        if match is None:
            number = written if isinstance(written, int) and not isinstance(written, bool) else 2
            raise wrong_value(
                Code.QUANTITY,
                "the unit of the batch is missing: write nodes, or percent of the group",
                allowed="`<n> nodes` or `<n>%`",
                remedy=f"write `{number} nodes` or `{number}%`",
            )
        value, unit = match.groups()
        return cls.percent(int(value)) if unit == "%" else cls.nodes(int(value))


_BATCH = re.compile(r"(\d+) *(%|nodes?)")
Batch = Annotated[
    InstanceOf[BatchSize],
    InFile(Any, BatchSize.read),
    WithJsonSchema({"type": "string", "pattern": r"^\d+ *(%|nodes?)$", "examples": ["2 nodes", "25%"]}),
]
"""Batch size, written as `2 nodes` or `25%` in a fleet file."""


_DEPLOYMENT = "ScheduledUpdateConfig.DeploymentConfig"
_ROLLING = "rollingUpdatePolicy"


def _size(batch: BatchSize) -> dict[str, Any]:
    return {"type": batch.unit.value, "value": batch.value}


class RollingUpdate(Spec):
    """How an update is rolled out to the nodes of a group (`DeploymentConfig`). Default: all nodes at the same time."""

    maximum_batch_size: Annotated[
        Batch | None, Field(alias="batch"), InRequest(f"{_ROLLING}.maximumBatchSize", _size)
    ] = None
    """How many nodes are updated at the same time: `2 nodes` or `25%`. Default: all nodes of the group."""
    rollback_maximum_batch_size: Annotated[
        Batch | None, Field(alias="rollback_batch"), InRequest(f"{_ROLLING}.rollbackMaximumBatchSize", _size)
    ] = None
    """How many nodes are rolled back at the same time. Default: same as `batch`."""
    wait_interval_seconds: Annotated[
        Seconds | None,
        Field(alias="wait"),
        Within(
            limit=group_limit(f"{_DEPLOYMENT}.WaitIntervalInSeconds"),
            code=Code.WAIT_INTERVAL,
            what="`wait`",
        ),
        InRequest("waitIntervalInSeconds"),
    ] = None
    """Pause between two batches, e.g. `5 min`, at most `1 h`. Default: none."""
    alarm_names: Annotated[
        Several[str],
        Field(alias="alarms"),
        InRequest("autoRollbackConfiguration", lambda names: [{"alarmName": name} for name in names]),
    ] = ()
    """Names of CloudWatch alarms that roll the update back, at most 10. Default: none.

    The nodes' role needs `cloudwatch:DescribeAlarms`; the role that the cluster creates gets it."""


class ScheduledUpdate(Spec):
    """When HyperPod updates the nodes of a group to the latest AMI. An update erases their root volumes."""

    schedule_expression: Annotated[
        str, Field(alias="cron", examples=["cron(0 3 ? * SUN *)"]), InRequest("scheduleExpression")
    ]
    """Schedule in UTC: `cron(minute hour day month weekday year)`, e.g. `cron(0 3 ? * SUN *)`."""
    deployment: Annotated[RollingUpdate | None, Field(alias="rolling"), InRequest("deploymentConfig")] = None
    """How the update is rolled out to the group. Default: all nodes at the same time."""


_API_ONLY = "CloudFormation cannot set it; set it with `aws sagemaker update-cluster` after the deployment"


class AutoPatch(Spec):
    """How HyperPod applies security patches to the nodes of a group automatically (`AutoPatchConfig`).

    Fields without a key in a fleet file exist only in the API. CloudFormation cannot set them, so they are an error
    (LF570).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        PatchingStrategy.DRAIN_FIRST: "write `WhenIdle` or `WhenAllIdle`: DrainFirst evicts pods and is only for EKS",
        **dict.fromkeys(
            ("idle_window", "idle_wait_window", "drain_timeout", "on_drain_timeout", "drain_policy", "next_patch_date"),
            _API_ONLY,
        ),
    }

    strategy: Annotated[
        PatchingStrategy,
        InFile(Literal[PatchingStrategy.WHEN_IDLE, PatchingStrategy.WHEN_ALL_IDLE]),
        Field(examples=["WhenIdle"]),
        InRequest("patchingStrategy"),
    ]
    """`WhenIdle` patches each node when it is idle; `WhenAllIdle` patches all nodes when all are idle."""
    deployment: Annotated[RollingUpdate | None, Field(alias="rolling"), InRequest("deploymentConfig")] = None
    """How patches are rolled out to the group. Default: according to the strategy, without batches or alarms."""
    next_patch_date: Annotated[datetime | None, Field(alias=f"{PYTHON_ONLY} next_patch_date")] = None
    """Set by the service; read-only in CloudFormation."""
    idle_wait_window_seconds: Annotated[
        int | None,
        Field(alias=f"{PYTHON_ONLY} idle_wait_window_seconds"),
        Within(
            limit=group_limit("AutoPatchConfig.IdleWaitWindowInSeconds"),
            code=Code.PATCH_IDLE_WINDOW,
            what="`idle_wait_window_seconds`",
        ),
    ] = None
    """API only. The service's default is 86400 seconds."""
    drain_timeout_seconds: Annotated[
        int | None,
        Field(alias=f"{PYTHON_ONLY} drain_timeout_seconds"),
        Within(
            limit=group_limit("AutoPatchConfig.DrainPolicy.DrainTimeoutInSeconds"),
            code=Code.PATCH_DRAIN,
            what="`drain_timeout_seconds`",
        ),
    ] = None
    """API only, for `DRAIN_FIRST`, which works only with EKS."""
    on_drain_timeout: Annotated[OnDrainTimeout | None, Field(alias=f"{PYTHON_ONLY} on_drain_timeout")] = None
    """API only, for `DRAIN_FIRST`, which works only with EKS."""


class InstanceGroup(Spec):
    """A group of equal nodes of a HyperPod cluster (`ClusterInstanceGroup`).

    Create one with `controller`, `login` or `workers`. The cluster checks all its groups together. Groups are in the
    same order in the template.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "image_release": "CloudFormation cannot set it; use `aws sagemaker update-cluster-software`, or an `image`",
        DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION: "CloudFormation cannot set it; start it with "
        "`aws sagemaker start-cluster-health-check`",
        "InstanceCount": "write `count`",
        "InstanceType": "write `type`",
        "InstanceGroupName": "write the name as the group's key, in front of its colon",
        "LifeCycleConfig": "write `lifecycle`; for your own scripts, write `scripts` of the cluster",
        "SlurmConfig": "write `role` and `partition`",
        "name": "write the name as the group's key, in front of its colon",
        "nodes": "write `count`",
        "instances": "write `count`",
        "partitions": "write `partition`: HyperPod supports one for each group",
    }

    name: Annotated[str, Field(alias=OWN_KEY), InRequest("instanceGroupName")]
    """1 to 63 letters, digits and single hyphens; no hyphen at either end. It is part of each node's SSM target."""
    node_type: Annotated[
        NodeType, InFile(SlurmRole, lambda role: role.node_type), Field(alias="role", examples=["compute"])
    ]
    """Role of its nodes in Slurm. A cluster has one controller group and at most one login group. It cannot be changed
    later."""
    instance_type: Annotated[
        InstanceTypeName | None, Field(alias="type", examples=["ml.trn1.32xlarge"]), InRequest("instanceType")
    ] = None
    """Instance type, with the prefix `ml.`. Set either `type` or `types`."""
    instance_types: Annotated[
        Several[InstanceTypeName], Field(alias="types"), InRequest("instanceRequirements.instanceTypes")
    ] = ()
    """Instance types in order of preference, at most 20; HyperPod uses the first with capacity. Requires Continuous
    provisioning."""
    count: Annotated[int, Field(examples=[1]), InRequest("instanceCount")]
    """Number of instances."""
    min_count: Annotated[int | None, InRequest("minInstanceCount")] = None
    """Number of instances that must be available within 3 hours; otherwise the group is rolled back. Requires
    Continuous provisioning.

    The service's default is 1 for controller and login groups, 0 for compute groups."""
    partition: str | None = None
    """Slurm partition of its nodes. Required for compute groups; not allowed for other groups."""
    threads_per_core: Annotated[int | None, InRequest("threadsPerCore")] = None
    """1 turns hyper-threading off. Default: that of the instance type."""
    lifecycle: Lifecycle | None = None
    """When its nodes run the lifecycle bundle. Default: the cluster's `lifecycle`."""
    on_create: str | None = None
    """A script of the bundle that runs instead of the AMI's configuration. Default: according to `lifecycle`."""
    on_init_complete: str | None = None
    """A script of the bundle that runs after the AMI's configuration. Default: according to `lifecycle`."""
    ebs_volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="ebs"),
        Within(
            limit=group_limit("InstanceStorageConfigs[].EbsVolumeConfig.VolumeSizeInGB"),
            code=Code.EBS_SIZE,
            what="`ebs`",
        ),
    ] = None
    """Size of a second EBS volume, mounted at /opt/sagemaker, e.g. `500 GiB`; the root volume has 100 GiB. Default:
    none."""
    ebs_volume_key: Annotated[Key | None, Field(alias="ebs_key")] = None
    """KMS key that encrypts the second volume, by ARN in a fleet file. Default: a key that AWS owns."""
    root_volume_key: Key | None = None
    """KMS key that encrypts the root volume, by ARN in a fleet file. Default: a key that AWS owns."""
    mount_lustre: Annotated[bool, Field(alias="mount_fsx")] = True
    """Whether its nodes mount the fleet's FSx for Lustre file system. Default: yes."""
    mount_open_zfs: Annotated[bool, Field(alias="mount_home")] = True
    """Whether its nodes mount the fleet's OpenZFS home file system. Default: yes."""
    deep_health_checks: Annotated[
        Several[
            Annotated[
                DeepHealthCheck, InFile(Literal[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY])
            ]
        ],
        InRequest("onStartDeepHealthChecks"),
    ] = ()
    """Deep health checks that a node must pass before it joins; they take an hour or more. Default: none."""
    training_plan_arn: Annotated[str | None, Field(alias="training_plan"), InRequest("trainingPlanArn")] = None
    """ARN of the training plan that provides the capacity. Default: on-demand capacity."""
    training_plan_availability_zone_id: Annotated[str | None, Field(alias="training_plan_az")] = None
    """AZ id of the training plan, which its ARN does not contain; the group must be in this AZ. Default: not
    checked."""
    spot: Annotated[bool, InRequest("capacityRequirements", lambda spot: {"spot": {}} if spot else None)] = False
    """Whether its nodes use Spot capacity, which AWS can reclaim. Default: on-demand capacity."""
    image_id: Annotated[str | None, Field(alias="image"), InRequest("imageId")] = None
    """Custom AMI, `ami-…`, built from HyperPod's AMI, or `default`. Default: HyperPod's AMI."""
    image_release_version: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} image_release_version")] = None
    """API only on Slurm: CloudFormation supports it only for EKS, so it is an error (LF570)."""
    network_interface: Annotated[NetworkInterfaceType | None, InRequest("networkInterface.interfaceType")] = None
    """Type of EFA interface of its nodes. Default: the service chooses by instance type."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. EFA does not work across AZs. Default: the cluster's AZ."""
    subnets: Several[Subnet] = ()
    """Subnets of this group, by id in a fleet file. They cannot be changed later. Default: those of the network."""
    security_groups: Several[SecurityGroup] = ()
    """Security groups of this group, by id in a fleet file, at most 5; requires `subnets`. Default: that of the
    network.

    Each must allow all traffic from and to itself, otherwise EFA's health check fails. In Python, create them as
    `EfaSecurityGroup`. If clusters in several stacks share an existing security group, import it once, in a stack that
    all of them depend on, and pass that object to each cluster, because EC2 rejects a rule that already exists."""
    execution_role: Role | None = None
    """Execution role of its nodes, by ARN in a fleet file. Default: the cluster's execution role."""
    scheduled_update: Annotated[ScheduledUpdate | None, Field(alias="schedule"), InRequest("scheduledUpdateConfig")] = (
        None
    )
    """When its nodes are updated to the latest AMI. Default: never automatically."""
    auto_patch: Annotated[AutoPatch | None, InRequest("autoPatchConfig")] = None
    """How HyperPod patches its nodes. Default: not automatically."""

    @classmethod
    def controller(
        cls, instance_type: str, *, name: str = "controller", count: int = 1, **options: Any
    ) -> "InstanceGroup":
        """Return the group of one node that runs slurmctld. A cluster has exactly one; `options` are more fields."""
        return cls(name=name, node_type=NodeType.CONTROLLER, instance_type=instance_type, count=count, **options)

    @classmethod
    def login(cls, instance_type: str, *, name: str = "login", count: int = 1, **options: Any) -> "InstanceGroup":
        """Return the group whose nodes users log in to. A cluster has at most one; `options` are more fields.

        Its nodes also run slurmd and are in HyperPod's partition `dev`, so jobs can run on them.
        """
        return cls(name=name, node_type=NodeType.LOGIN, instance_type=instance_type, count=count, **options)

    @classmethod
    def workers(
        cls,
        name: str,
        instance_type: str | Sequence[str],
        *,
        count: int,
        partition: str | None = None,
        **options: Any,
    ) -> "InstanceGroup":
        """Return a group whose nodes run jobs, in a Slurm partition of the group's name unless `partition` is set.

        With several instance types the group is flexible: HyperPod uses the first with capacity. `options` are more
        fields.
        """
        types = (
            {"instance_type": instance_type} if isinstance(instance_type, str) else {"instance_types": instance_type}
        )
        partition = name if partition is None else partition
        return cls(name=name, node_type=NodeType.COMPUTE, count=count, partition=partition, **types, **options)

    @property
    def types(self) -> tuple[str, ...]:
        """Its instance types, from `type` or `types`; one empty string if neither is set."""
        return tuple(self.instance_types or ("",)) if self.instance_type is None else (self.instance_type,)

    @property
    def subnet_ids(self) -> tuple[str, ...]:
        """The ids of `subnets`."""
        return tuple(map(SUBNET.name_of, self.subnets))

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """The ids of `security_groups`."""
        return tuple(map(SECURITY_GROUP.name_of, self.security_groups))

    @property
    def execution_role_arn(self) -> str | None:
        """The ARN of `execution_role`."""
        return None if self.execution_role is None else ROLE.name_of(self.execution_role)

    @property
    def script(self) -> str | None:
        """The script of the bundle that is set on the group, or that `running` has filled in."""
        return self.on_create or self.on_init_complete

    @property
    def hook(self) -> LifecycleHook | None:
        """When its nodes run `script`; `None` for never."""
        if self.on_create is not None:
            return LifecycleHook.ON_CREATE
        return LifecycleHook.ON_INIT_COMPLETE if self.on_init_complete is not None else None

    def mounts(self, kind: Literal["lustre", "open_zfs"]) -> bool:
        """Return whether its nodes mount the cluster's file system of that kind."""
        return self.mount_lustre if kind == "lustre" else self.mount_open_zfs

    def running(self, lifecycle: Lifecycle, entry_point: str | None) -> "InstanceGroup":
        """Return the group with the script that its nodes run.

        - `lifecycle`: when they run the bundle, unless the group sets it.
        - `entry_point`: file name of the bundle's script. Default: llm-fleet's script for the hook.
        """
        hook: Any = (self.lifecycle or lifecycle).hook
        if self.hook is not None or is_unresolved(hook):
            return self
        if hook is None:
            return self.model_copy(update={"lifecycle": Lifecycle.NONE})
        name = entry_point or load("lifecycle")["entry_points"][hook]
        field = "on_create" if hook is LifecycleHook.ON_CREATE else "on_init_complete"
        return self.model_copy(update={field: name, "lifecycle": None})
