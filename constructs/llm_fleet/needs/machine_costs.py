"""What machines cost."""

from collections.abc import Iterator
from decimal import Decimal

from llm_fleet.catalog.prices import PriceTable
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.cost_line import CostLine
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machines import machines_of
from llm_fleet.needs.terms import CapacitySource, MachineService

_ANY_SAGEMAKER = "sagemaker"
"""A price of an `ml.` type of which nobody told for which use."""

_SERVICES = {
    MachineService.HYPERPOD: "sagemaker-cluster",
    MachineService.PARALLELCLUSTER: "ec2",
    MachineService.ECS: "ec2",
    MachineService.ENDPOINT: "sagemaker-hosting",
    MachineService.TRAINING_JOB: "sagemaker-training",
    MachineService.NOTEBOOK: "sagemaker-notebook",
    MachineService.STUDIO: "sagemaker-studio",
}

_NOTES = {
    CapacitySource.SPOT: "at most: this is the price on demand, and spot costs less",
    CapacitySource.TRAINING_PLAN: "paid when the training plan was bought",
    CapacitySource.CAPACITY_BLOCK: "paid when the capacity block was bought",
    CapacitySource.RESERVATION: "the reservation costs as much while nothing runs in it",
}


def machine_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for each kind of machines of each owner, and for the second volumes of HyperPod's."""
    for machines in machines_of(fleet):
        if machines.count:
            yield _line(machines, fleet.region, table)
    yield from _volumes(fleet, table)


def services_of(service: MachineService) -> tuple[str, ...]:
    """Return whose prices count for machines of `service`, the fitting one first."""
    own = _SERVICES[service]
    return (own,) if service.on_ec2 else (own, _ANY_SAGEMAKER)


def _line(machines: Machines, region: str, table: PriceTable) -> CostLine:
    services = services_of(machines.service)
    return CostLine(
        owner=machines.owner,
        what=" or ".join(machines.instance_types) or "instances of the capacity block",
        services=services,
        item=machines.instance_type,
        minimum=Decimal(machines.minimum),
        maximum=Decimal(machines.count),
        price=None if machines.capacity.paid_before else table.find(services, machines.instance_type, region),
        paid_before=machines.capacity.paid_before,
        note=_note(machines),
    )


def _note(machines: Machines) -> str:
    notes = [_NOTES.get(machines.capacity, "")]
    if machines.at_first > machines.minimum:
        notes.append(f"{machines.at_first} run at first: ECS starts no fewer, and the idle one goes after 15 minutes")
    if machines.other_types and not machines.capacity.paid_before:
        notes.append(f"the price is that of {machines.instance_type}, the most wanted")
    return "; ".join(note for note in notes if note)


def _volumes(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    services = (_SERVICES[MachineService.HYPERPOD],)
    for name, cluster in fleet.hyperpod_clusters.items():
        for group in cluster.groups.values():
            if group.ebs_volume_gib is not None and group.count:
                size = Decimal(group.ebs_volume_gib * group.count)
                yield CostLine(
                    owner=f"{name}/{group.name}",
                    what="second volumes",
                    services=services,
                    item="volume",
                    minimum=size,
                    maximum=size,
                    price=table.find(services, "volume", fleet.region),
                )
