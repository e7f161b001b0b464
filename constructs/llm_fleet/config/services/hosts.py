"""The instances under a service, but for their type."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Gibibytes


class HostsConfig(FleetModel):
    """Who runs the instances under a service, and what they are made with."""

    other_words: ClassVar[Mapping[str, str]] = {
        "type": "write `instance` of the service, beside `hosts`",
        "instance_type": "write `instance` of the service, beside `hosts`",
        "count": "write `count` of the service: a task has an instance to itself",
        "managed": "write `capacity: managed-instances`",
        "kind": "write `capacity`",
        "asg": "write `capacity: ec2`",
        "fargate": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
        "FARGATE": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
        "root_volume": "write `volume`",
        "disk": "write `volume`",
        "image": "write `ami`; the server's container image is `image` of `server`",
        "driver_version": "write `driver`",
    }

    capacity: Capacity = Capacity.EC2
    """Who runs them. Default: `ec2`, an auto scaling group whose driver is pinned and that mounts S3."""
    root_volume_gib: Gibibytes | None = Field(default=None, alias="volume")
    """Size of the root volume. Default: system, the server's image twice, and the
    model's cache."""
    ami: str | None = None
    """A release of the ECS Neuron AMI, in quotes, e.g. `"20260701"`, or an AMI id. Default: the newest release that is
    believed to carry the pinned driver."""
    driver_version: str | None = Field(default=None, alias="driver")
    """Version of `aws-neuronx-dkms`, in quotes. Default: the newest that goes with the server's image."""
    install_driver: bool | None = None
    """Whether a host whose AMI has another driver installs the pinned one at boot. Default: yes on `ec2`."""
