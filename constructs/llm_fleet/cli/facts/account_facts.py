"""`llm-fleet facts refresh`: reads facts from an account."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from llm_fleet.catalog.ec2_instances import prices
from llm_fleet.cli.check.capacity import zone_names, zones_with
from llm_fleet.cli.check.question import Account
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.cli.facts.account_check import machines_on_ec2
from llm_fleet.cli.facts.account_file import AccountFacts, Kind, read_account_file
from llm_fleet.cli.plan.price_file import RefreshedPrices
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import cost_of
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
    types = sorted({one.ec2_type for one in machines_on_ec2(fleet)})
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
