"""`llm-fleet facts refresh`: reads facts from an account."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from llm_fleet.catalog.ec2_instances import ec2_instance_names, prices, reported_facts, use_instance_types
from llm_fleet.catalog.neuron import ami_parameter
from llm_fleet.cli.check.capacity import zone_names, zones_with
from llm_fleet.cli.check.images_and_models import image_parameter, releases_of
from llm_fleet.cli.check.question import Account
from llm_fleet.cli.check.quotas import granted_quota, quota_key, quota_needs
from llm_fleet.cli.clients import AwsClients, AwsRefusal
from llm_fleet.cli.facts.account_check import ec2_types
from llm_fleet.cli.plan.price_file import RefreshedPrices
from llm_fleet.fleet_file.document import parse, read_text
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.named_files.account_file import AccountFacts, Kind, read_account_file
from llm_fleet.needs.fleet_cost import cost_of
from llm_fleet.rules.problem import FleetError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The result of a refresh."""

    facts: AccountFacts
    remarks: list[str] = field(default_factory=list[str])
    """Facts that AWS does not have, and kinds that were not read."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Calls that AWS refused."""


_EC2_TYPE = re.compile(r"(?<![\w.-])[a-z][a-z0-9-]*\.(?:metal|\d*x?large|medium|small|micro|nano)[a-z0-9-]*\b")


def load_with_new_types(file: Path) -> Fleet:
    """Return the fleet, also if its file has EC2 instance types that EC2 offers and this release does not have.

    Raises `FleetError` with all other errors of the file, and `AwsRefusal`.
    """
    try:
        return load_fleet(file)
    except FleetError as error:
        text = read_text(file)
        region = parse(text, subject=str(file)).data.get("region")
        new = set(_EC2_TYPE.findall(text)) - {*ec2_instance_names()}
        if not new or not isinstance(region, str):
            raise
        found = properties_of(Account(AwsClients(region=region)), new, [])
        if not found:
            raise error from None
        use_instance_types(found)
        return load_fleet(file)


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
    types = ec2_types(fleet)
    return replace(facts, offerings={name: tuple(sorted(zones_with(account, name, types))) for name in types})


def _with_instance_types(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    return replace(facts, instance_types=properties_of(account, ec2_types(fleet), remarks))


def properties_of(account: Account, types: Collection[str], remarks: list[str]) -> dict[str, dict[str, Any]]:
    """Return the properties of EC2 instance types in the form of the catalog; `remarks` gets those without."""
    if not types:
        return {}
    filters = [{"Name": "instance-type", "Values": sorted(types)}]
    answers = account.ask("ec2", "describe_instance_types", Filters=filters)["InstanceTypes"]
    found = {answer["InstanceType"]: reported_facts(answer) for answer in answers}
    remarks.extend(f"no properties: {name}: EC2 does not have it in {account.region}" for name in {*types} - {*found})
    return dict(sorted(found.items()))


def _with_quotas(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    return replace(
        facts, quotas={quota_key(need.quota): granted_quota(account, need.quota) for need in quota_needs(fleet)}
    )


def _with_images(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    names = {ami_parameter(release) for release, _, _ in releases_of(fleet)}
    return replace(facts, images={name: image_parameter(account, name) for name in sorted(names)})


def _with_prices(account: Account, fleet: Fleet, facts: AccountFacts, remarks: list[str]) -> AccountFacts:
    found = RefreshedPrices(cost_of(fleet, prices()).lines, fleet.region)
    remarks.extend(f"no price: {unknown}" for unknown in found.unknown)
    return replace(facts, prices=tuple(found.prices))


_READERS: Mapping[Kind, _Read] = {
    Kind.ZONES: _with_zones,
    Kind.OFFERINGS: _with_offerings,
    Kind.INSTANCE_TYPES: _with_instance_types,
    Kind.QUOTAS: _with_quotas,
    Kind.IMAGES: _with_images,
    Kind.PRICES: _with_prices,
}
