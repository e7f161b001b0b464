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
    """What nodes do in Slurm, as the fleet file spells it."""

    CONTROLLER = "controller"
    LOGIN = "login"
    COMPUTE = "compute"

    @property
    def node_type(self) -> NodeType:
        """The API's word for it."""
        return NodeType(self.value.capitalize())


class Lifecycle(StrEnum):
    """When nodes run the scripts of the lifecycle bundle."""

    ON_INIT_COMPLETE = "OnInitComplete"
    """After the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting."""
    ON_CREATE = "OnCreate"
    """In place of the AMI's configuration."""
    NONE = "none"
    """Never: the AMI configures all there is."""

    @property
    def hook(self) -> LifecycleHook | None:
        """The API's word for it; `None` for no script."""
        return None if self is Lifecycle.NONE else LifecycleHook(self.value)


class NetworkInterfaceType(StrEnum):
    """What kind of EFA interface nodes get (`NetworkInterface.InterfaceType`). Compared with botocore by a test."""

    EFA = "efa"
    """EFA and the ENA device for IP."""
    EFA_ONLY = "efa-only"
    """EFA alone, without an address of the subnet for IP traffic on those cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """How many nodes of a group an update takes at once (`CapacitySizeConfig`)."""

    unit: CapacityUnit
    value: int
    """Nodes, or percent of the group, by `unit`. At least 1."""

    @classmethod
    def nodes(cls, value: int) -> "BatchSize":
        """Take `value` nodes at once."""
        return cls(unit=CapacityUnit.INSTANCE_COUNT, value=value)

    @classmethod
    def percent(cls, value: int) -> "BatchSize":
        """Take `value` percent of the group at once."""
        return cls(unit=CapacityUnit.CAPACITY_PERCENTAGE, value=value)

    @classmethod
    def read(cls, written: Any) -> "BatchSize":
        """Read `2 nodes` or `25%`, of a fleet file."""
        match = _BATCH.fullmatch(written.strip()) if isinstance(written, str) else None
        if match is None:
            number = written if isinstance(written, int) and not isinstance(written, bool) else 2
            raise wrong_value(
                Code.QUANTITY,
                "a batch needs its unit: it counts nodes, or per cent of the group",
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
"""A batch, written as `2 nodes` or `25%` in a fleet file."""


_DEPLOYMENT = "ScheduledUpdateConfig.DeploymentConfig"
_ROLLING = "rollingUpdatePolicy"


def _size(batch: BatchSize) -> dict[str, Any]:
    return {"type": batch.unit.value, "value": batch.value}


class RollingUpdate(Spec):
    """How an update rolls over the nodes of a group (`DeploymentConfig`). Default: all nodes at once."""

    maximum_batch_size: Annotated[
        Batch | None, Field(alias="batch"), InRequest(f"{_ROLLING}.maximumBatchSize", _size)
    ] = None
    """How many nodes are out of service at once: `2 nodes` or `25%`. Default: all of the group."""
    rollback_maximum_batch_size: Annotated[
        Batch | None, Field(alias="rollback_batch"), InRequest(f"{_ROLLING}.rollbackMaximumBatchSize", _size)
    ] = None
    """The same on the way back. Default: as on the way out."""
    wait_interval_seconds: Annotated[
        Seconds | None,
        Field(alias="wait"),
        Within(
            limit=group_limit(f"{_DEPLOYMENT}.WaitIntervalInSeconds"),
            code=Code.WAIT_INTERVAL,
            what="the pause between batches, in seconds,",
        ),
        InRequest("waitIntervalInSeconds"),
    ] = None
    """Pause between two batches, e.g. `5 min`, at most an hour. Default: none."""
    alarm_names: Annotated[
        Several[str],
        Field(alias="alarms"),
        InRequest("autoRollbackConfiguration", lambda names: [{"alarmName": name} for name in names]),
    ] = ()
    """CloudWatch alarms by name, 10 at most, any of which makes the update roll back. Default: none.

    The nodes' role needs `cloudwatch:DescribeAlarms` for it; the role that the cluster makes has it then."""


class ScheduledUpdate(Spec):
    """When HyperPod brings the nodes of a group to its newest image. An update wipes their root volumes."""

    schedule_expression: Annotated[
        str, Field(alias="cron", examples=["cron(0 3 ? * SUN *)"]), InRequest("scheduleExpression")
    ]
    """When, in UTC, as `cron(minute hour day month weekday year)`, e.g. `cron(0 3 ? * SUN *)`."""
    deployment: Annotated[RollingUpdate | None, Field(alias="rolling"), InRequest("deploymentConfig")] = None
    """How it rolls over the group. Default: all nodes at once."""


_API_ONLY = "CloudFormation cannot set it; set it with `aws sagemaker update-cluster` after the deployment"


class AutoPatch(Spec):
    """How HyperPod puts security patches on the nodes of a group by itself (`AutoPatchConfig`).

    The fields without a key in a fleet file are the API's, and CloudFormation cannot set them: a cluster refuses them
    (LF570).
    """

    other_words: ClassVar[Mapping[str, str]] = {
        PatchingStrategy.DRAIN_FIRST: "write `WhenIdle` or `WhenAllIdle`: DrainFirst evicts pods, and is for EKS",
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
    """`WhenIdle` takes each node as it falls idle, `WhenAllIdle` all of them once all are idle."""
    deployment: Annotated[RollingUpdate | None, Field(alias="rolling"), InRequest("deploymentConfig")] = None
    """How it rolls over the group. Default: as the strategy says, without batches or alarms."""
    next_patch_date: Annotated[datetime | None, Field(alias=f"{PYTHON_ONLY} next_patch_date")] = None
    """Set by the service; CloudFormation only reads it."""
    idle_wait_window_seconds: Annotated[
        int | None,
        Field(alias=f"{PYTHON_ONLY} idle_wait_window_seconds"),
        Within(
            limit=group_limit("AutoPatchConfig.IdleWaitWindowInSeconds"),
            code=Code.PATCH_IDLE_WINDOW,
            what="the wait for idle nodes, in seconds,",
        ),
    ] = None
    """API only. Default of the service: 86400 seconds."""
    drain_timeout_seconds: Annotated[
        int | None,
        Field(alias=f"{PYTHON_ONLY} drain_timeout_seconds"),
        Within(
            limit=group_limit("AutoPatchConfig.DrainPolicy.DrainTimeoutInSeconds"),
            code=Code.PATCH_DRAIN,
            what="the time to drain, in seconds,",
        ),
    ] = None
    """API only, for `DRAIN_FIRST`, which is for EKS only."""
    on_drain_timeout: Annotated[OnDrainTimeout | None, Field(alias=f"{PYTHON_ONLY} on_drain_timeout")] = None
    """API only, for `DRAIN_FIRST`, which is for EKS only."""


class InstanceGroup(Spec):
    """A group of like nodes of a HyperPod cluster (`ClusterInstanceGroup`).

    `controller`, `login` and `workers` make one. The cluster checks all its groups together. The order of groups in the
    cluster is the order in the template.
    """

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

    name: Annotated[str, Field(alias=OWN_KEY), InRequest("instanceGroupName")]
    """1 to 63 letters, digits and single hyphens inside. It is part of every node's SSM target."""
    node_type: Annotated[
        NodeType, InFile(SlurmRole, lambda role: role.node_type), Field(alias="role", examples=["compute"])
    ]
    """What its nodes do in Slurm. A cluster has one controller group and at most one login group. It cannot be changed
    later."""
    instance_type: Annotated[
        InstanceTypeName | None, Field(alias="type", examples=["ml.trn1.32xlarge"]), InRequest("instanceType")
    ] = None
    """The instance type, with its `ml.`. A group has either `type` or `types`."""
    instance_types: Annotated[
        Several[InstanceTypeName], Field(alias="types"), InRequest("instanceRequirements.instanceTypes")
    ] = ()
    """Several types, 20 at most, the most wanted first; HyperPod takes what it can get. Needs Continuous
    provisioning."""
    count: Annotated[int, Field(examples=[1]), InRequest("instanceCount")]
    """How many instances."""
    min_count: Annotated[int | None, InRequest("minInstanceCount")] = None
    """How many must be there within 3 hours, else the group goes back to what it was. Needs Continuous provisioning.

    Default of the service: 1 for controller and login, 0 for compute groups."""
    partition: str | None = None
    """Slurm partition of its nodes; every compute group has one, no other group may."""
    threads_per_core: Annotated[int | None, InRequest("threadsPerCore")] = None
    """1 turns hyper-threading off. Default: as the instance type has it."""
    lifecycle: Lifecycle | None = None
    """When its nodes run the lifecycle bundle. Default: as the cluster says."""
    on_create: str | None = None
    """A script of the bundle that runs in place of the AMI's configuration. Default: by `lifecycle`."""
    on_init_complete: str | None = None
    """A script of the bundle that runs after the AMI's configuration. Default: by `lifecycle`."""
    ebs_volume_gib: Annotated[
        Gibibytes | None,
        Field(alias="ebs"),
        Within(
            limit=group_limit("InstanceStorageConfigs[].EbsVolumeConfig.VolumeSizeInGB"),
            code=Code.EBS_SIZE,
            what="the size of the secondary EBS volume, in GiB,",
        ),
    ] = None
    """A second EBS volume, mounted at /opt/sagemaker, e.g. `500 GiB`; the root volume has 100 GiB. Default: none."""
    ebs_volume_key: Annotated[Key | None, Field(alias="ebs_key")] = None
    """The KMS key, by its ARN in a fleet file, that encrypts the second volume. Default: a key that AWS owns."""
    root_volume_key: Key | None = None
    """The KMS key, by its ARN in a fleet file, that encrypts the root volume. Default: a key that AWS owns."""
    mount_lustre: Annotated[bool, Field(alias="mount_fsx")] = True
    """Whether its nodes mount the fleet's FSx for Lustre. Default: yes."""
    mount_open_zfs: Annotated[bool, Field(alias="mount_home")] = True
    """Whether its nodes mount the fleet's OpenZFS home. Default: yes."""
    deep_health_checks: Annotated[
        Several[
            Annotated[
                DeepHealthCheck, InFile(Literal[DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY])
            ]
        ],
        InRequest("onStartDeepHealthChecks"),
    ] = ()
    """Stress tests that a node passes before it joins; they take an hour or more. Default: none."""
    training_plan_arn: Annotated[str | None, Field(alias="training_plan"), InRequest("trainingPlanArn")] = None
    """ARN of the training plan to take the capacity from. Default: on-demand capacity."""
    training_plan_availability_zone_id: Annotated[str | None, Field(alias="training_plan_az")] = None
    """AZ id of the training plan; its ARN does not hold it, and the group must stand there. Default: not checked."""
    spot: Annotated[bool, InRequest("capacityRequirements", lambda spot: {"spot": {}} if spot else None)] = False
    """Whether its nodes come from spot capacity, which AWS may take back. Default: on-demand capacity."""
    image_id: Annotated[str | None, Field(alias="image"), InRequest("imageId")] = None
    """A custom image, `ami-…`, built from HyperPod's, or `default`. Default: HyperPod's own."""
    image_release_version: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} image_release_version")] = None
    """API only on Slurm: CloudFormation knows it for EKS alone, so a cluster refuses it (LF570)."""
    network_interface: Annotated[NetworkInterfaceType | None, InRequest("networkInterface.interfaceType")] = None
    """What kind of EFA interface its nodes get. Default: the service chooses by instance type."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. EFA does not cross AZs. Default: the cluster's."""
    subnets: Several[Subnet] = ()
    """Subnets of its own, by id in a fleet file. They cannot be changed later. Default: those of the network."""
    security_groups: Several[SecurityGroup] = ()
    """Security groups of its own, by id in a fleet file, 5 at most, with `subnets`. Default: that of the network.

    Each needs rules from and to itself for all traffic, else EFA's health check fails: in Python, make them
    `EfaSecurityGroup`s. Clusters of several stacks that share an existing one: import it once, in a stack that all of
    them stand on, and give each cluster that object, because EC2 refuses a rule that exists."""
    execution_role: Role | None = None
    """The role, by its ARN in a fleet file, that its nodes act with. Default: the cluster's."""
    scheduled_update: Annotated[ScheduledUpdate | None, Field(alias="schedule"), InRequest("scheduledUpdateConfig")] = (
        None
    )
    """When its nodes are brought to the newest image. Default: never by themselves."""
    auto_patch: Annotated[AutoPatch | None, InRequest("autoPatchConfig")] = None
    """How its nodes are patched by HyperPod. Default: not by itself."""

    @classmethod
    def controller(
        cls, instance_type: str, *, name: str = "controller", count: int = 1, **options: Any
    ) -> "InstanceGroup":
        """Return the group of one node that runs slurmctld. A cluster has exactly one; `options` are further fields."""
        return cls(name=name, node_type=NodeType.CONTROLLER, instance_type=instance_type, count=count, **options)

    @classmethod
    def login(cls, instance_type: str, *, name: str = "login", count: int = 1, **options: Any) -> "InstanceGroup":
        """Return the group whose nodes users log in to. A cluster has one at most; `options` are further fields.

        Its nodes run slurmd too and are in HyperPod's partition `dev`, so that jobs can land on them.
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
        """Return a group whose nodes run jobs, in a Slurm partition of its own name unless `partition` is given.

        Several instance types make it flexible: HyperPod takes the first that it gets. `options` are further fields.
        """
        types = (
            {"instance_type": instance_type} if isinstance(instance_type, str) else {"instance_types": instance_type}
        )
        partition = name if partition is None else partition
        return cls(name=name, node_type=NodeType.COMPUTE, count=count, partition=partition, **types, **options)

    @property
    def types(self) -> tuple[str, ...]:
        """Its instance types, however they are given; one without letters where none is."""
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
        """The script of the bundle that it names itself, or that `running` has filled in."""
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
        """Return it with the script that its nodes run.

        - `lifecycle`: when they run the bundle, where the group does not say it.
        - `entry_point`: file name of the bundle's script. Default: the shipped one of the hook.
        """
        hook: Any = (self.lifecycle or lifecycle).hook
        if self.hook is not None or is_unresolved(hook):
            return self
        if hook is None:
            return self.model_copy(update={"lifecycle": Lifecycle.NONE})
        name = entry_point or load("lifecycle")["entry_points"][hook]
        field = "on_create" if hook is LifecycleHook.ON_CREATE else "on_init_complete"
        return self.model_copy(update={field: name, "lifecycle": None})
