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

from llm_fleet.catalog.data_file import DataFile
from llm_fleet.catalog.ec2_instances import Price
from llm_fleet.cli.facts.ages import ACCOUNT_FILE
from llm_fleet.cli.plan.price_file import entry_of, price_of
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import FactsCode

_FORMAT = 1


class Kind(StrEnum):
    """A kind of facts of an account; the key in the file."""

    ZONES = "zones"
    OFFERINGS = "offerings"
    PRICES = "prices"


_SOURCES = {
    Kind.ZONES: ("AZ ids of the account", "EC2 DescribeAvailabilityZones"),
    Kind.OFFERINGS: ("AZs that offer the fleet's EC2 instance types", "EC2 DescribeInstanceTypeOfferings"),
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
            Kind.PRICES: [entry_of(one) for one in self.prices],
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
            prices=tuple(price_of(entry) for entry in _facts(document, Kind.PRICES, [])),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
        refuse(
            FactsCode.ACCOUNT_FILE,
            f"not a valid file of an account's facts: {type(error).__name__}: {error}",
            "delete the file, and write it again with `llm-fleet facts refresh`",
            subject=str(path),
        )


def _facts(document: Mapping[str, Any], kind: Kind, otherwise: Any) -> Any:
    return document[kind]["facts"] if kind in document else otherwise


def _texts(items: Any) -> tuple[str, ...]:
    if not isinstance(items, list):
        raise TypeError(f"{items!r} is not a list")
    return tuple(_text(one) for one in items)  # pyright: ignore[reportUnknownVariableType]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
