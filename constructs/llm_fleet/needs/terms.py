"""The closed vocabularies of what a fleet needs."""

from enum import StrEnum


class MachineService(StrEnum):
    """Who rents the machines out: price and quota depend on it."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"
    ECS = "ecs"
    ENDPOINT = "endpoint"
    TRAINING_JOB = "training-job"
    NOTEBOOK = "notebook"
    STUDIO = "studio"

    @property
    def on_ec2(self) -> bool:
        """Whether they are instances of the account's own EC2, without `ml.` in their type."""
        return self in (MachineService.PARALLELCLUSTER, MachineService.ECS)


class CapacitySource(StrEnum):
    """By what right they run."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    TRAINING_PLAN = "training-plan"
    RESERVATION = "reservation"
    """A capacity reservation of EC2, paid at the on-demand price, used or not."""
    CAPACITY_BLOCK = "capacity-block"
    """Paid when it was bought."""

    @property
    def paid_before(self) -> bool:
        """Whether it was paid when it was bought, so that running costs nothing more."""
        return self in (CapacitySource.TRAINING_PLAN, CapacitySource.CAPACITY_BLOCK)
