"""Asks EC2 where the instances of a fleet are offered, and the services of its endpoints."""

from collections.abc import Iterator

from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.question import Answer, Ask, Question
from llm_fleet.cli.check.topic import Topic
from llm_fleet.config.check_network_config import endpoint_features
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machines import machines_of
from llm_fleet.needs.terms import CapacitySource
from llm_fleet.rules.account.offering import check_endpoint_zones, check_offering, check_zones_of_account
from llm_fleet.rules.network_endpoints import endpoint_zones, interface_endpoints

_BOUGHT = (CapacitySource.TRAINING_PLAN, CapacitySource.CAPACITY_BLOCK, CapacitySource.RESERVATION)
"""What was bought has a place of its own, which says more than an offering."""


def questions(fleet: Fleet, *, region: str) -> Iterator[Question]:
    """Ask for the AZs of the network, for the services of its endpoints, and for each type in each of its AZs."""
    zones = fleet.network.availability_zone_ids if fleet.network is not None else ()
    if zones:
        yield Question(
            topic=Topic.OFFERINGS, what=f"AZs {', '.join(zones)}", answer=lambda account: _zones(account, fleet, region)
        )
    placed = _endpoints(fleet)
    if placed:
        yield Question(
            topic=Topic.OFFERINGS,
            what=f"interface endpoints in {', '.join(zones)}",
            answer=lambda account: _endpoint_services(account, fleet, placed, region),
        )
    seen: set[tuple[str, tuple[str, ...]]] = set()
    types = sorted({one.ec2_type for one in _asked(fleet)})
    for one in _asked(fleet):
        key = (one.instance_type, one.availability_zone_ids)
        if key in seen:
            continue
        seen.add(key)
        yield Question(
            topic=Topic.OFFERINGS,
            what=f"{one.instance_type} in {', '.join(one.availability_zone_ids)}",
            answer=_asking(one, types, region),
        )


def _asked(fleet: Fleet) -> list[Machines]:
    return [
        one
        for one in machines_of(fleet)
        if one.instance_type and one.count and one.availability_zone_ids and one.capacity not in _BOUGHT
    ]


def _zones(account: Account, fleet: Fleet, region: str) -> Answer:
    assert fleet.network is not None
    told = account.ask("ec2", "describe_availability_zones")["AvailabilityZones"]
    names = {zone["ZoneId"]: zone["ZoneName"] for zone in told if zone.get("State", "available") == "available"}
    wanted = (*fleet.network.availability_zone_ids, *fleet.network.load_balancer_zone_ids)
    problems = check_zones_of_account(wanted, there=names, region=region)
    shown = ", ".join(f"{zone} is {names[zone]} in this account" for zone in wanted if zone in names)
    return Answer(detail=shown or f"this account has {', '.join(sorted(names))}", problems=problems)


def _endpoints(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    """Return the AZs of each interface endpoint that is to be made: none in a network that exists."""
    network = fleet.network
    if network is None or network.vpc is not None:
        return {}
    names = interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints)
    return endpoint_zones(names, network.availability_zone_ids, network.without_endpoints)


def _endpoint_services(account: Account, fleet: Fleet, placed: dict[str, tuple[str, ...]], region: str) -> Answer:
    assert fleet.network is not None
    filters = [{"Name": "service-type", "Values": ["Interface"]}]
    services = account.ask("ec2", "describe_vpc_endpoint_services", Filters=filters)["ServiceDetails"]
    zones = account.ask("ec2", "describe_availability_zones")["AvailabilityZones"]
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    # The ids of a service's AZs are a member of newer models only; names are another account's other AZs.
    offered = {
        one["ServiceName"].partition(f".{region}.")[2]: set(
            one.get("AvailabilityZoneIds") or [ids.get(name, name) for name in one.get("AvailabilityZones", ())]
        )
        for one in services
    }
    known = {name: [zone for zone in asked if zone in ids.values()] for name, asked in placed.items()}
    problems = check_endpoint_zones(known, offered=offered, without=fleet.network.without_endpoints, region=region)
    return Answer(
        detail=f"{'not all' if problems else 'all'} of {len(placed)} services are offered there", problems=problems
    )


def _asking(one: Machines, types: list[str], region: str) -> Ask:
    def answer(account: Account) -> Answer:
        filters = [{"Name": "instance-type", "Values": types}]
        told = account.ask(
            "ec2", "describe_instance_type_offerings", LocationType="availability-zone-id", Filters=filters
        )["InstanceTypeOfferings"]
        offered = {item["Location"] for item in told if item["InstanceType"] == one.ec2_type}
        hint = not one.service.on_ec2
        problems = check_offering(
            one.instance_type,
            one.availability_zone_ids,
            offered=offered,
            owner=one.owner,
            path=one.path,
            indication=hint,
            region=region,
        )
        where = f"EC2 offers it in {', '.join(sorted(offered)) or 'no AZ'}"
        return Answer(detail=f"{where}; an indication only" if hint else where, problems=problems)

    return answer
