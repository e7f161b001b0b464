"""Like machines of one owner."""

from dataclasses import dataclass

from llm_fleet.needs.terms import CapacitySource, MachineService


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Like machines that one part of a fleet file asks for."""

    owner: str
    """Whose they are, in words, e.g. `train/trn1` or `service chat`."""
    path: tuple[str, ...]
    """Where in the fleet file, by its own words, e.g. `("clusters", "train", "groups", "trn1")`."""
    service: MachineService
    instance_type: str
    """With `ml.` where SageMaker rents it out; the most wanted where there are several. Empty where a capacity block
    decides."""
    other_types: tuple[str, ...] = ()
    """What is taken where there is none of `instance_type`."""
    count: int
    """At most."""
    minimum: int
    """How many always run."""
    at_first: int = 0
    """How many are started at least where none runs, if that is more than `minimum`; they go when nothing needs them.
    """
    availability_zone_ids: tuple[str, ...] = ()
    """Where they may stand; empty where nobody told, or in subnets of their own."""
    capacity: CapacitySource = CapacitySource.ON_DEMAND
    capacity_id: str | None = None
    """ARN of the training plan, or the id or ARN of the reservation or the capacity block."""

    @property
    def instance_types(self) -> tuple[str, ...]:
        """All types, the most wanted first."""
        return (self.instance_type, *self.other_types) if self.instance_type else self.other_types

    @property
    def ec2_type(self) -> str:
        """The most wanted type by EC2's name, without `ml.`."""
        return self.instance_type.removeprefix("ml.")
