"""Head node and login nodes of a ParallelCluster, and what all its nodes have in common."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, SkipValidation, WithJsonSchema

from llm_fleet.catalog.ec2_instances import ec2_instance_names
from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import InternalStorage
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.references import SECURITY_GROUP, SUBNET, OwnSecurityGroup, Subnet
from llm_fleet.spec.spec import SHORTHAND, Spec
from llm_fleet.spec.values import IDLE_TIME, AnyText, Gibibytes, MebibytesPerSecond, Several, wrong_value


def _types(schema: dict[str, Any]) -> None:
    schema["examples"] = ["trn1.32xlarge"]
    schema["enum"] = sorted(ec2_instance_names())


Ec2Type = Annotated[str, AnyText(), Field(json_schema_extra=_types)]
"""An instance type by EC2's name. Which there are is for the rule to tell, and for the schema to offer."""


def _read_public_address(written: Any) -> bool | str:
    if isinstance(written, bool | str):
        return written
    raise wrong_value(
        Code.WRONG_TYPE,
        "true, false or the id of an Elastic IP should stand here",
        allowed="true, false, or `eipalloc-…`",
        remedy="write `true` to have an address made, or remove the key: Session Manager needs none",
    )


_PublicAddress = Annotated[
    bool | str,
    SkipValidation,
    BeforeValidator(_read_public_address),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^eipalloc-"}]}),
]
OF_HEAD: Mapping[str, str] = {
    "InstanceType": "write `type`",
    "Networking": "write `subnet`, `elastic_ip` and `security_groups`",
    "Ssh": "write `key` and `allowed_from`",
    "LocalStorage": "write `root_volume` and `scratch`",
    "DisableSimultaneousMultithreading": "write `hyperthreading: false`",
    "SharedStorageType": "write `internal_storage`",
    "Image": "write `image`",
    "Imds": "write `imds_secured`",
    "Dcv": "write `dcv`",
    "Iam": "write `reads` and `writes` of the cluster",
    "CustomActions": "llm-fleet brings the scripts; write your own as `scripts: {own: …}` of the cluster",
}
"""What to write for ParallelCluster's own keys below the head node, and below a login pool."""


class RootVolume(Spec):
    """The EBS volume that a node boots from (`LocalStorage/RootVolume`).

    The head node's cannot be changed later, and /opt/slurm and /home lie on it unless they lie elsewhere: give it room.
    """

    other_words: ClassVar[Mapping[str, str]] = {"Size": "write `size`, with its unit", "VolumeType": "write `type`"}

    size_gib: Annotated[Gibibytes | None, SHORTHAND, Field(alias="size")] = None
    """Its size, e.g. `200 GiB`. Default: as ParallelCluster has it, at least as large as the image."""
    volume_type: Annotated[str | None, Field(alias="type")] = None
    """EBS volume type, e.g. `gp3`. Default: `gp3`."""
    iops: int | None = None
    """Provisioned operations a second, for gp3, io1 and io2. Default: what comes with the volume."""
    throughput_mib_s: Annotated[MebibytesPerSecond | None, Field(alias="throughput")] = None
    """Provisioned throughput of a gp3, e.g. `250 MiB/s`. Default: what comes with the volume."""
    encrypted: bool | None = None
    """Whether it is encrypted; all queues must say the same. Default: yes."""


class Dcv(Spec):
    """Amazon DCV, a remote desktop (`Dcv`). `dcv: {}` is one with all defaults. It cannot be added or removed later."""

    port: int | None = None
    """The port it listens on. Default: 8443."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """From where it may be reached: a CIDR block, or a prefix list's id. Default: nowhere; SSM forwards its port."""


class HeadNode(Spec):
    """The head node, which runs Slurm's daemons (`HeadNode`). Most of it cannot change once the cluster is there."""

    other_words: ClassVar[Mapping[str, str]] = OF_HEAD

    instance_type: Annotated[Ec2Type, Field(alias="type", examples=["c5.4xlarge"])]
    """The instance type, as EC2 has it, e.g. `c5.4xlarge`. Its processor is of the kind that all queues have."""
    root_volume: RootVolume | None = None
    """Its root volume, where homes are unless the fleet has a `home`. Default: ParallelCluster's, encrypted."""
    scratch_mount_dir: Annotated[str | None, Field(alias="scratch")] = None
    """Where it mounts its local disks, if it has any. Default: `/scratch`."""
    subnet: Subnet | None = None
    """A subnet of its own, by id in a fleet file. Default: the compute subnet of the cluster's AZ."""
    elastic_ip: _PublicAddress = False
    """Whether it has a public address, or the id of one. Default: no; people come by Session Manager."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Further security groups, by id in a fleet file. Default: none."""
    key_name: Annotated[str | None, Field(alias="key")] = None
    """Name of the EC2 key pair of the image's user. Default: none; people come by Session Manager."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """From where SSH may reach it: a CIDR block, or a prefix list by id. Default: from nowhere; SSM needs no port."""
    hyperthreading: bool = True
    """Whether it has two threads for each core, where the processor has them. Default: yes."""
    internal_storage: InternalStorage = InternalStorage.EBS
    """Where ParallelCluster keeps its own shared folders: `Ebs`, or `Efs`, which outlives a lost head node.

    Default: `Ebs`; small files are slower on `Efs`."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """An image of its own, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    imds_secured: bool = True
    """Whether only root and administrators reach the instance metadata, and so its credentials. Default: yes."""
    dcv: Dcv | None = None
    """A remote desktop. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached: that role must hold them.
    """

    @property
    def subnet_id(self) -> str | None:
        """The id of `subnet`."""
        return None if self.subnet is None else SUBNET.name_of(self.subnet)

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """The ids of `security_groups`."""
        return tuple(map(SECURITY_GROUP.name_of, self.security_groups))


class LoginPool(Spec):
    """Login nodes behind one address, a network load balancer (`LoginNodes/Pools[]`).

    They spare the head node: a user's compiler that takes all memory there takes Slurm down.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **OF_HEAD,
        "Count": "write `count`",
        "GracetimePeriod": "write `grace_time`, with its unit",
        "Name": "write the name as the key, in front of its colon",
        "Networking": "write `subnet` and `security_groups`",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """1 to 25 lower-case letters, digits and hyphens, a letter first."""
    instance_type: Annotated[Ec2Type, Field(alias="type", examples=["m5.xlarge"])]
    """The instance type, as EC2 has it, e.g. `m5.xlarge`."""
    count: Annotated[int, Field(examples=[1])] = 1
    """How many login nodes; 0 stops the pool, which most changes of it need. Default: 1."""
    subnet: Subnet | None = None
    """A subnet of its own, by id in a fleet file. Default: as the head node."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Further security groups, by id in a fleet file. Default: none."""
    gracetime_minutes: Annotated[Annotated[int, IDLE_TIME] | None, Field(alias="grace_time")] = None
    """How long people are warned before a node goes, e.g. `30 min`; 3 to 120 minutes. Default: 10 minutes."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """From where SSH may reach them: a CIDR block, or a prefix list by id. Default: from nowhere; SSM needs no port."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """An image of its own, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    dcv: Dcv | None = None
    """Remote desktops. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached: that role must hold them.
    """

    @property
    def subnet_id(self) -> str | None:
        """The id of `subnet`."""
        return None if self.subnet is None else SUBNET.name_of(self.subnet)

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """The ids of `security_groups`."""
        return tuple(map(SECURITY_GROUP.name_of, self.security_groups))
