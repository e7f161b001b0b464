"""Facts of one account in one Region: a file next to the fleet file, which `llm-fleet facts refresh` writes.

    {"format": 1, "account": "111122223333", "region": "us-west-2",
     "zones": {"checked": "2026-11-28", "source": "…", "facts": ["usw2-az1", …]}, …}

The keys of `_SOURCES` are optional.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import InvalidOperation
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.data_file import DataFile, typed
from llm_fleet.catalog.ec2_instances import Ec2Instance, Price
from llm_fleet.named_files.named_file import ACCOUNT_FILE
from llm_fleet.rules.account.instance_capacity import QuotaGranted
from llm_fleet.rules.feature_codes import FactsCode
from llm_fleet.rules.problem import FleetError, Problem

_FORMAT = 1


class Kind(StrEnum):
    """A kind of facts of an account; the key in the file."""

    ZONES = "zones"
    OFFERINGS = "offerings"
    INSTANCE_TYPES = "instance_types"
    QUOTAS = "quotas"
    IMAGES = "images"
    PRICES = "prices"


_SOURCES = {
    Kind.ZONES: ("AZ ids of the account", "EC2 DescribeAvailabilityZones"),
    Kind.OFFERINGS: ("AZs that offer the fleet's EC2 instance types", "EC2 DescribeInstanceTypeOfferings"),
    Kind.INSTANCE_TYPES: ("properties of the fleet's EC2 instance types", "EC2 DescribeInstanceTypes"),
    Kind.QUOTAS: ("quotas that the fleet can exceed", "Service Quotas, ListServiceQuotas and defaults"),
    Kind.IMAGES: ("AMI ids of the public parameters that the fleet uses", "SSM GetParameters"),
    Kind.PRICES: ("prices of the fleet's instances in its Region", "AWS Price List, GetProducts"),
}
"""What the facts are about, and the call that returned them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """What an account reported. A kind without a date in `checked` was not read."""

    account: str
    region: str
    checked: Mapping[Kind, date] = field(default_factory=dict[Kind, date])
    zones: tuple[str, ...] = ()
    """AZ ids."""
    offerings: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """AZ ids by EC2 instance type; no AZs if EC2 does not offer the type in the Region."""
    instance_types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Properties by EC2 instance type, in the form of the catalog."""
    quotas: Mapping[str, QuotaGranted | None] = field(default_factory=dict[str, "QuotaGranted | None"])
    """By `quota_key`, with the default of a quota that was never changed; `None` if AWS does not have the quota."""
    images: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """AMI ids by the names of public parameters; `None` if AWS does not publish the parameter."""
    prices: tuple[Price, ...] = ()

    def data_files(self) -> Iterator[DataFile]:
        """Yield each kind in the form of the catalog's data files, for the table of facts."""
        for kind, day in self.checked.items():
            what, source = _SOURCES[kind]
            yield DataFile(
                name=f"account/{kind}",
                what=what,
                source=f"{source}, account {self.account}, {self.region}",
                checked=day,
            )

    def text(self) -> str:
        """Return the text of the file."""
        facts: dict[Kind, Any] = {
            Kind.ZONES: self.zones,
            Kind.OFFERINGS: dict(self.offerings),
            Kind.INSTANCE_TYPES: {name: dict(values) for name, values in self.instance_types.items()},
            Kind.QUOTAS: {name: _quota_entry(granted) for name, granted in self.quotas.items()},
            Kind.IMAGES: dict(self.images),
            Kind.PRICES: [one.entry for one in self.prices],
        }
        kinds = {
            kind.value: {"checked": day.isoformat(), "source": _SOURCES[kind][1], "facts": facts[kind]}
            for kind, day in self.checked.items()
        }
        head = {"format": _FORMAT, "account": self.account, "region": self.region}
        return json.dumps({**head, **kinds}, indent=1) + "\n"


def facts_next_to(fleet_file: Path) -> AccountFacts | None:
    """Return the facts of the file next to `fleet_file`; `None` without one. Raises `FleetError` (LF1241)."""
    path = fleet_file.parent / ACCOUNT_FILE
    return read_account_file(path) if path.is_file() else None


def read_account_file(path: Path) -> AccountFacts:
    """Return the facts of a file that `llm-fleet facts refresh` wrote. Raises `FleetError` (LF1241)."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError(f"unknown format {document['format']}")
        return AccountFacts(
            account=_text(document["account"]),
            region=_text(document["region"]),
            checked=MappingProxyType(
                {kind: date.fromisoformat(document[kind]["checked"]) for kind in Kind if kind in document}
            ),
            zones=_texts(_facts(document, Kind.ZONES, [])),
            offerings={name: _texts(zones) for name, zones in _facts(document, Kind.OFFERINGS, {}).items()},
            instance_types={
                name: _properties(name, values) for name, values in _facts(document, Kind.INSTANCE_TYPES, {}).items()
            },
            quotas={name: _quota_of(entry) for name, entry in _facts(document, Kind.QUOTAS, {}).items()},
            images={
                name: None if image is None else _text(image)
                for name, image in _facts(document, Kind.IMAGES, {}).items()
            },
            prices=tuple(Price.of_entry(entry) for entry in _facts(document, Kind.PRICES, [])),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
        problem = Problem(
            code=FactsCode.ACCOUNT_FILE,
            message=f"not a valid file of an account's facts: {type(error).__name__}: {error}",
            remedy="delete the file, and write it again with `llm-fleet facts refresh`",
        )
        raise FleetError([problem], subject=str(path)) from None


def _facts(document: Mapping[str, Any], kind: Kind, otherwise: Any) -> Any:
    return document[kind]["facts"] if kind in document else otherwise


def _properties(name: str, values: Any) -> Mapping[str, Any]:
    typed(Ec2Instance, values, f"facts of {name}", name=name)
    return values


def _quota_entry(granted: QuotaGranted | None) -> dict[str, Any] | None:
    if granted is None:
        return None
    return {"code": granted.code, "value": granted.value, "adjustable": granted.adjustable}


def _quota_of(entry: Any) -> QuotaGranted | None:
    return None if entry is None else typed(QuotaGranted, entry, "facts of a quota")


def _texts(items: Any) -> tuple[str, ...]:
    if not isinstance(items, list):
        raise TypeError(f"{items!r} is not a list")
    return tuple(_text(one) for one in items)  # pyright: ignore[reportUnknownVariableType]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
