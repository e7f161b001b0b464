"""Checks a fleet against the facts of an account, without calls to AWS."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from llm_fleet.cli.facts.account_file import AccountFacts, Kind
from llm_fleet.fleet_file.check_network import zones_of_network
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.account.instance_capacity import check_offering, check_zones_of_account
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from llm_fleet.needs.machines import Machines


def machines_on_ec2(fleet: Fleet) -> "list[Machines]":
    """Return the instances of EC2. SageMaker's capacity is separate, so EC2's offerings prove nothing about it."""
    from llm_fleet.cli.check.capacity import requested_machines  # It imports far more than `validate` needs.

    return [one for one in requested_machines(fleet) if one.service.on_ec2]


def check_account_facts(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    """Yield what the account does not have, by the rules of `llm-fleet check`, in keys of the fleet file.

    Facts of another Region are not used.
    """
    if facts.region != fleet.region:
        return
    if Kind.ZONES in facts.checked:
        zones = tuple(dict.fromkeys(zones_of_network(fleet)))
        for problem in check_zones_of_account(zones, there=facts.zones, region=facts.region):
            yield _dated(problem, facts.checked[Kind.ZONES])
    for one in machines_on_ec2(fleet) if facts.offerings else ():
        offered = facts.offerings.get(one.ec2_type)
        if offered is not None:
            unread = Kind.ZONES not in facts.checked
            known = [zone for zone in one.availability_zone_ids if unread or zone in facts.zones]
            for problem in check_offering(
                one.instance_type, known, offered=offered, owner=one.owner, path=one.path, region=facts.region
            ):
                yield _dated(problem, facts.checked[Kind.OFFERINGS])


def _dated(problem: Problem, day: date) -> Problem:
    return replace(
        problem, remedy=f"{problem.remedy}; this is the state of {day}: `llm-fleet facts refresh` reads it again"
    )
