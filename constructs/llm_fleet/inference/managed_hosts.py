"""Hosts that ECS runs: Managed Instances."""

from dataclasses import dataclass

from llm_fleet.rules.inference.hosts import check_hosts
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedHosts:
    """ECS Managed Instances: AWS starts, patches and replaces them, and chooses their image and Neuron driver.

    Nothing of ours runs there: no model is mounted from S3, and whether the driver goes with the image's runtime only
    the first start tells. assumption: managed-instances-driver
    Raises `FleetError` (LF730 to LF738) for what hosts alone can tell.
    """

    instance_type: str
    """EC2's name, e.g. `inf2.xlarge`."""
    root_volume_gib: int | None = None
    """Size of the data volume, which holds the images, in GiB. Default: system and the server's image twice."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        raise_problems(check_hosts(self), subject="ManagedHosts")

    @property
    def capacity(self) -> Capacity:
        """ECS's."""
        return Capacity.MANAGED_INSTANCES

    @property
    def ami(self) -> None:
        """AWS chooses it."""
        return

    @property
    def driver_version(self) -> None:
        """AWS chooses it."""
        return

    @property
    def install_driver(self) -> bool:
        """Never."""
        return False
