"""Hosts in an auto scaling group of ours."""

from dataclasses import dataclass

from llm_fleet.rules.inference.hosts import check_hosts
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Hosts:
    """EC2 instances whose driver is pinned, and on which S3 is mounted; one serving task each.

    Raises `FleetError` (LF730 to LF734) for what hosts alone can tell.
    """

    instance_type: str
    """EC2's name, e.g. `inf2.xlarge`; `Ec2InstanceType.of(…)` for a size newer than this release of llm-fleet, of
    a family that it knows: NeuronCores and memory of others are not to be told."""
    root_volume_gib: int | None = None
    """Size of the encrypted gp3 that a host boots from, in GiB. Default: system, the server's image twice, as an update
    pulls the new one beside the old, and the model's cache."""
    ami: str | None = None
    """A release of the ECS-optimized Neuron AMI by its date, e.g. `20260701`, or the id of an AMI. Default: the newest
    release that is believed to carry the pinned driver, so that nothing is installed at boot. It is pinned: the
    newest AMI carries a driver that the runtime in most images refuses."""
    driver_version: str | None = None
    """`aws-neuronx-dkms` that each host must have, e.g. `2.28.0.0`. Default: the newest that goes with the runtime in
    the server's image."""
    install_driver: bool = True
    """Whether a host whose AMI has another driver installs the pinned one at boot, from Neuron's signed repository.
    Default: it does, which takes minutes and a way to the internet; `False` refuses such a host at once."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        raise_problems(check_hosts(self), subject="Ec2Hosts")

    @property
    def capacity(self) -> Capacity:
        """Ours."""
        return Capacity.EC2
