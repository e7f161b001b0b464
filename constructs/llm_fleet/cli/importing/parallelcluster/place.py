"""Tells the network of a ParallelCluster configuration, and where in it each kind of nodes stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.network import regions
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The network, and the AZ of each subnet that stands in it."""

    network: dict[str, Any]
    """The key `network` of the fleet."""
    zones: dict[str, str]
    """AZ ids by the ids of the network's subnets, the first one first."""

    def of_queue(self, subnets: Sequence[str]) -> dict[str, Any]:
        """Return the keys that put a queue into its subnets; none where the fleet's first subnet serves."""
        if not subnets:
            return {}
        if len(subnets) == 1 and subnets[0] in self.zones:
            zone = self.zones[subnets[0]]
            return {} if zone == next(iter(self.zones.values())) else {"az": zone}
        return {"subnets": list(subnets)}

    def of_node(self, subnet: str | None) -> str | None:
        """Return a head node's or pool's own subnet; `None` where the fleet's first subnet serves."""
        return None if subnet is None or subnet == next(iter(self.zones), None) else subnet


def tell_place(
    subnets: Sequence[str],
    *,
    region: str,
    zones: Sequence[str],
    vpc: str | None,
    notes: Notes,
    problems: list[Problem],
) -> Place:
    """Return where it all stands. `subnets`: of all queues, those that are no placeholders; else the head node's."""
    distinct = list(dict.fromkeys(subnets))
    if not distinct:
        return _made(region, zones, notes)
    if vpc is None or len(zones) != len(distinct):
        problems.append(_ask(distinct))
        return Place(network={}, zones={})
    notes.chosen(f"the subnets are taken as they are, under network.vpc, in {vpc}")
    by_zone = dict(zip(zones, distinct, strict=True))
    return Place(
        network={"vpc": {"id": vpc, "subnets": by_zone}}, zones={subnet: zone for zone, subnet in by_zone.items()}
    )


def _made(region: str, zones: Sequence[str], notes: Notes) -> Place:
    if zones:
        notes.chosen(f"a VPC is made, with a compute subnet in {', '.join(zones)}: the configuration names no subnet")
        return Place(network={"az": zones[0]} if len(zones) == 1 else {"azs": list(zones)}, zones={})
    known = regions().get(region)
    zone = f"{known.az_id_prefix if known else 'use1'}-az1"
    notes.chosen(
        f"a VPC is made, with a compute subnet in {zone}: the configuration names no subnet; put in its place the AZ "
        "that your capacity is in, or import with `--az ID`"
    )
    return Place(network={"az": zone}, zones={})


def _ask(subnets: Sequence[str]) -> Problem:
    return Problem(
        code=Code.REQUEST_SHAPE,
        message="a fleet file names the VPC and the AZ of each subnet, which the configuration does not tell",
        remedy=f"add `--vpc` with the VPC's id, and an `--az` with the AZ id of each of {', '.join(subnets)} in turn; "
        f"`aws ec2 describe-subnets --subnet-ids {' '.join(subnets)} "
        "--query 'Subnets[].[SubnetId,VpcId,AvailabilityZoneId]'` tells them",
        path=("Scheduling", "SlurmQueues"),
        value=list(subnets),
    )
