"""Checks a fleet against the facts of an account, without calls to AWS."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from llm_fleet.catalog.neuron import ami_parameter
from llm_fleet.fleet_file.check_network import zones_of_network
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.named_files.account_file import AccountFacts, Kind
from llm_fleet.rules.account.existing_resources import check_image_release
from llm_fleet.rules.account.instance_capacity import check_offering, check_quota, check_zones_of_account
from llm_fleet.rules.problem import Problem

if TYPE_CHECKING:
    from llm_fleet.needs.machines import Machines


def machines_on_ec2(fleet: Fleet) -> "list[Machines]":
    """Return the instances of EC2. SageMaker's capacity is separate, so EC2's offerings prove nothing about it."""
    from llm_fleet.cli.check.capacity import requested_machines  # It imports far more than `validate` needs.

    return [one for one in requested_machines(fleet) if one.service.on_ec2]


def ec2_types(fleet: Fleet) -> list[str]:
    """Return the EC2 instance types of the fleet, also those with purchased capacity."""
    from llm_fleet.needs.machines import machines_of

    return sorted(
        {one for machines in machines_of(fleet) if machines.service.on_ec2 for one in machines.instance_types}
    )


def check_account_facts(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    """Yield what the account does not have, by the rules of `llm-fleet check`, in keys of the fleet file.

    Facts of another Region are not used.
    """
    if facts.region != fleet.region:
        return
    for kind, check in _CHECKS.items():
        if kind in facts.checked:
            for problem in check(fleet, facts):
                how = f"this is the state of {facts.checked[kind]}: `llm-fleet facts refresh` reads it again"
                yield replace(problem, remedy=f"{problem.remedy}; {how}")


def _zones(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    zones = tuple(dict.fromkeys(zones_of_network(fleet)))
    yield from check_zones_of_account(zones, there=facts.zones, region=facts.region)


def _offerings(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    for one in machines_on_ec2(fleet):
        offered = facts.offerings.get(one.ec2_type)
        if offered is not None:
            unread = Kind.ZONES not in facts.checked
            known = [zone for zone in one.availability_zone_ids if unread or zone in facts.zones]
            yield from check_offering(
                one.instance_type, known, offered=offered, owner=one.owner, path=one.path, region=facts.region
            )


def _quotas(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    """Yield quotas that are too small for the fleet alone: the current usage in the account is not in the file."""
    from llm_fleet.cli.check.quotas import quota_key, quota_needs

    for need in quota_needs(fleet):
        key = quota_key(need.quota)
        if key in facts.quotas:
            yield from check_quota(need, facts.quotas[key], region=facts.region)


def _images(fleet: Fleet, facts: AccountFacts) -> Iterator[Problem]:
    from llm_fleet.cli.check.images_and_models import releases_of

    for release, owner, path in releases_of(fleet):
        name = ami_parameter(release)
        if name in facts.images:
            there = facts.images[name] is not None
            yield from check_image_release(
                release, there=there, parameter=name, owner=owner, region=facts.region, path=path
            )


_CHECKS = {Kind.ZONES: _zones, Kind.OFFERINGS: _offerings, Kind.QUOTAS: _quotas, Kind.IMAGES: _images}
