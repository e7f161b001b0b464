"""A pool of login nodes of a ParallelCluster."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.config.parallelcluster.dcv import DcvConfig
from llm_fleet.config.parallelcluster.instances import Ec2Type
from llm_fleet.config.parallelcluster.other_words import OF_HEAD
from llm_fleet.config.parallelcluster.values import GraceMinutes
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import SecurityGroupId


class LoginPoolConfig(NamedModel):
    """Login nodes behind one address. Its key is the pool's name."""

    other_words: ClassVar[Mapping[str, str]] = {
        **OF_HEAD,
        "Count": "write `count`",
        "GracetimePeriod": "write `grace_time`, with its unit",
        "Name": "write the name as the key, in front of its colon",
        "Networking": "write `subnet` and `security_groups`",
    }

    instance_type: Ec2Type = Field(alias="type", examples=["m5.xlarge"])
    """The instance type, as EC2 has it, e.g. `m5.xlarge`."""
    count: int = Field(examples=[1])
    """How many login nodes; 0 stops the pool."""
    subnet_id: str | None = Field(default=None, alias="subnet")
    """A subnet of its own, by id. Default: the compute subnet of the cluster's AZ."""
    security_group_ids: tuple[SecurityGroupId, ...] = Field(default=(), alias="security_groups")
    """Further security groups, by id. Default: none."""
    gracetime_minutes: GraceMinutes | None = Field(default=None, alias="grace_time")
    """How long people are warned before a node goes, e.g. `30 min`. Default: 10 minutes."""
    allowed_ips: str | None = Field(default=None, alias="allowed_from")
    """From where SSH may reach them: a CIDR block, or a prefix list by id. Default: from nowhere; SSM needs no port."""
    image_id: str | None = Field(default=None, alias="image")
    """An image of its own, `ami-…`. Default: the cluster's."""
    dcv: DcvConfig | None = None
    """Remote desktops. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""
