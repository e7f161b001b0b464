"""Head node and login nodes of a ParallelCluster, and settings that all its nodes share."""

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
"""An EC2 instance type. The schema offers the known types; a rule checks the value."""


def _read_public_address(written: Any) -> bool | str:
    if isinstance(written, bool | str):
        return written
    raise wrong_value(
        Code.WRONG_TYPE,
        "this must be true, false or the id of an Elastic IP",
        allowed="true, false, or `eipalloc-…`",
        remedy="write `true` to create an Elastic IP, or remove the key: Session Manager does not need one",
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
    "CustomActions": "llm-fleet provides the scripts; add your own with `scripts: {own: …}` of the cluster",
}
"""Remedies for ParallelCluster's own keys below the head node or a login pool."""


class RootVolume(Spec):
    """The root EBS volume of a node (`LocalStorage/RootVolume`).

    That of the head node cannot be changed later and contains /opt/slurm and /home, unless these are on another file
    system, so make it large enough.
    """

    other_words: ClassVar[Mapping[str, str]] = {"Size": "write `size`, with its unit", "VolumeType": "write `type`"}

    size_gib: Annotated[Gibibytes | None, SHORTHAND, Field(alias="size")] = None
    """Its size, e.g. `200 GiB`. Default: ParallelCluster's own, at least the size of the AMI."""
    volume_type: Annotated[str | None, Field(alias="type")] = None
    """EBS volume type, e.g. `gp3`. Default: `gp3`."""
    iops: int | None = None
    """Provisioned IOPS, for gp3, io1 and io2. Default: the volume type's baseline."""
    throughput_mib_s: Annotated[MebibytesPerSecond | None, Field(alias="throughput")] = None
    """Provisioned throughput of gp3, e.g. `250 MiB/s`. Default: the volume type's baseline."""
    encrypted: bool | None = None
    """Whether it is encrypted; the value must be the same for all queues. Default: yes."""


class Dcv(Spec):
    """Amazon DCV, a remote desktop (`Dcv`). `dcv: {}` uses all defaults. It cannot be added or removed later."""

    port: int | None = None
    """Port of the DCV server. Default: 8443."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """Source of allowed connections: a CIDR block, or the id of a prefix list. Default: none; Session Manager can
    forward the port."""


class HeadNode(Spec):
    """The head node, which runs Slurm's controller daemons (`HeadNode`). Most settings cannot be changed after
    creation."""

    other_words: ClassVar[Mapping[str, str]] = OF_HEAD

    instance_type: Annotated[Ec2Type, Field(alias="type", examples=["c5.4xlarge"])]
    """EC2 instance type, e.g. `c5.4xlarge`. Its CPU architecture must be that of all queues."""
    root_volume: RootVolume | None = None
    """Root volume. It contains the home directories unless the fleet has a `home`. Default: ParallelCluster's own,
    encrypted."""
    scratch_mount_dir: Annotated[str | None, Field(alias="scratch")] = None
    """Mount path of its local disks, if it has any. Default: `/scratch`."""
    subnet: Subnet | None = None
    """Its subnet, by id in a fleet file. Default: the compute subnet of the cluster's AZ."""
    elastic_ip: _PublicAddress = False
    """Whether it has a public IP address, or the id of an Elastic IP. Default: no; users connect with Session
    Manager."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Additional security groups, by id in a fleet file. Default: none."""
    key_name: Annotated[str | None, Field(alias="key")] = None
    """Name of the EC2 key pair for the image's default user. Default: none; users connect with Session Manager."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """Source of allowed SSH connections: a CIDR block, or the id of a prefix list. Default: none; Session Manager needs
    no open port."""
    hyperthreading: bool = True
    """Whether each core has two threads, where the processor supports it. Default: yes."""
    internal_storage: InternalStorage = InternalStorage.EBS
    """Storage of ParallelCluster's own shared folders: `Ebs`, or `Efs`, which survives the loss of the head node.

    Default: `Ebs`; small files are slower on `Efs`."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """Custom AMI of the head node, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    imds_secured: bool = True
    """Whether only root and administrators can read the instance metadata with its credentials. Default: yes."""
    dcv: Dcv | None = None
    """Remote desktop with Amazon DCV. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Settings of ParallelCluster that have no key here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached; that role must contain
    their permissions.
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
    """Login nodes behind one address, that of a network load balancer (`LoginNodes/Pools[]`).

    They protect the head node: a user's process that uses all of its memory stops Slurm.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        **OF_HEAD,
        "Count": "write `count`",
        "GracetimePeriod": "write `grace_time`, with its unit",
        "Name": "write the name as the key, in front of its colon",
        "Networking": "write `subnet` and `security_groups`",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """1 to 25 lower-case letters, digits and hyphens, starting with a letter."""
    instance_type: Annotated[Ec2Type, Field(alias="type", examples=["m5.xlarge"])]
    """EC2 instance type, e.g. `m5.xlarge`."""
    count: Annotated[int, Field(examples=[1])] = 1
    """Number of login nodes; 0 stops the pool, which most changes of it require. Default: 1."""
    subnet: Subnet | None = None
    """Subnet of the pool, by id in a fleet file. Default: that of the head node."""
    security_groups: Several[OwnSecurityGroup] = ()
    """Additional security groups, by id in a fleet file. Default: none."""
    gracetime_minutes: Annotated[Annotated[int, IDLE_TIME] | None, Field(alias="grace_time")] = None
    """Time between the warning of users and the termination of a node, e.g. `30 min`; 3 to 120 minutes. Default: 10
    minutes."""
    allowed_ips: Annotated[str | None, Field(alias="allowed_from")] = None
    """Source of allowed SSH connections: a CIDR block, or the id of a prefix list. Default: none; Session Manager needs
    no open port."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """Custom AMI of the pool, `ami-…`, built for this version of ParallelCluster. Default: the cluster's."""
    dcv: Dcv | None = None
    """Remote desktops with Amazon DCV. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Settings of ParallelCluster that have no key here, in ParallelCluster's own spelling. Default: none.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached; that role must contain
    their permissions.
    """

    @property
    def subnet_id(self) -> str | None:
        """The id of `subnet`."""
        return None if self.subnet is None else SUBNET.name_of(self.subnet)

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """The ids of `security_groups`."""
        return tuple(map(SECURITY_GROUP.name_of, self.security_groups))
