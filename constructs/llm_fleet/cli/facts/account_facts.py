"""`llm-fleet facts refresh`: reads facts from an account; and the check of a fleet against them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from llm_fleet.catalog.ec2_instances import prices
from llm_fleet.cli.check.capacity import requested_machines, zone_names, zones_of_network, zones_with
from llm_fleet.cli.check.question import Account
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.cli.facts.account_file import AccountFacts, Kind, read_account_file
from llm_fleet.cli.plan.price_file import RefreshedPrices
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import cost_of
from llm_fleet.needs.machines import Machines
from llm_fleet.rules.account.instance_capacity import check_offering, check_zones_of_account
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The result of a refresh."""

    facts: AccountFacts
    remarks: list[str] = field(default_factory=list[str])
    """Facts that AWS does not have, and kinds that were not read."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Calls that AWS refused."""


def stored_facts(path: Path) -> AccountFacts | None:
    """Return the facts of an earlier refresh; `None` without a file.

    Raises `FleetError` (LF1241) for a file with another content, which must not be overwritten.
    """
    return read_account_file(path) if path.exists() else None


def refreshed(account: Account, fleet: Fleet, stored: AccountFacts | None, today: date) -> Refreshed:
    """Read every kind of facts. If AWS refuses a call, the kind keeps what is stored for this account and Region.

    Raises `AwsRefusal` if even the account's number cannot be read.
    """
    number = str(account.identity["Account"])
    facts = AccountFacts(account=number, region=fleet.region)
    kept = stored if stored is not None and (stored.account, stored.region) == (number, fleet.region) else facts
    result = Refreshed(facts=facts)
    for kind, read in _READERS.items():
        try:
            facts = replace(read(account, fleet, facts, result.remarks), checked={**facts.checked, kind: today})
        except AwsRefusal as refusal:
            facts = _with_kept(kind, facts, kept)
            left = f"those of {kept.checked[kind]} are kept" if kind in kept.checked else "the file has none"
            result.remarks.append(f"not refreshed: {kind} ({refusal.subject}); {left}")
            result.problems.extend(refusal.problems)
    return replace(result, facts=facts)


def _with_kept(kind: Kind, facts: AccountFacts, kept: AccountFacts) -> AccountFacts:
    if kind not in kept.checked:
        return facts
    return replace(facts, **{kind.value: getattr(kept, kind)}, checked={**facts.checked, kind: kept.checked[kind]})


_Read = Callable[[Account, Fleet, AccountFacts, list[str]], AccountFacts]


def _with_zones(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    return replace(facts, zones=tuple(sorted(zone_names(account))))


def _with_offerings(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    types = sorted({one.ec2_type for one in _on_ec2(fleet)})
    return replace(facts, offerings={name: tuple(sorted(zones_with(account, name, types))) for name in types})


def _with_prices(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    found = RefreshedPrices(cost_of(fleet, prices()).lines, fleet.region)
    remarks.extend(f"no price: {unknown}" for unknown in found.unknown)
    return replace(facts, prices=tuple(found.prices))


_READERS: Mapping[Kind, _Read] = {
    Kind.ZONES: _with_zones,
    Kind.OFFERINGS: _with_offerings,
    Kind.PRICES: _with_prices,
}


def _on_ec2(fleet: Fleet) -> list[Machines]:
    """Return the instances of EC2. SageMaker's capacity is separate, so EC2's offerings prove nothing about it."""
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
    for one in _on_ec2(fleet):
        offered = facts.offerings.get(one.ec2_type)
        if offered is not None:
            known = [zone for zone in one.availability_zone_ids if zone in facts.zones]
            for problem in check_offering(
                one.instance_type, known, offered=offered, owner=one.owner, path=one.path, region=facts.region
            ):
                yield _dated(problem, facts.checked[Kind.OFFERINGS])


def _dated(problem: Problem, day: date) -> Problem:
    return replace(
        problem, remedy=f"{problem.remedy}; this is the state of {day}: `llm-fleet facts refresh` reads it again"
    )
