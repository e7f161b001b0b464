"""Prints retained resources: table or JSON."""

import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from llm_fleet.cli.plan.fleet_sections import as_number, in_dollars
from llm_fleet.cli.retained.adoption import RESTORE, Adoption
from llm_fleet.cli.retained.deletion import KEY_DAYS, Deletion
from llm_fleet.cli.retained.fleet_keys import fleet_key
from llm_fleet.cli.retained.survey import KEY, NO_CHARGE, Retained, Survey
from llm_fleet.cli.screen import Screen, Tone, Toned, counted, painted, print_json, print_notes
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.fleet_file.fleet import Fleet

_COLUMNS = (
    Column(key="kind", title="KIND"),
    Column(key="id", title="ID"),
    Column(key="name", title="NAME"),
    Column(key="since", title="SINCE"),
    Column(key="size", title="SIZE", right=True),
    Column(key="month", title="PER MONTH", right=True),
    Column(key="users", title="VPC IN USE BY"),
    Column(key="key", title="FLEET FILE", wraps=True),
)
_NOT_KNOWN = "no price known"
_NOT_QUERIED = "not queried"
_USERS = 2
"""Ids of others that a row of the table names."""


def print_list(found: Survey, fleet: Fleet, *, as_json: bool) -> None:
    """Print the resources of `found`, and on standard error what could not be queried."""
    if as_json:
        print_json(
            {
                "fleet": fleet.name,
                "region": fleet.region,
                "stacks": found.stacks,
                "retained": [_data(item, fleet) for item in found.items],
                "problems": found.problems,
            }
        )
        return
    screen = Screen.of_output()
    print(Table(columns=_COLUMNS, rows=[_row(item, fleet) for item in found.items]).text(screen), end="")
    print(painted(_sum(found, fleet), Tone.STRONG, color=screen.color))
    print_notes((), found.problems)


def print_adoption(adoption: Adoption, found: Survey, path: Path, *, as_json: bool) -> None:
    """Print the difference of the fleet file at `path`, notes, and what could not be queried."""
    if as_json:
        print_json(
            {
                "file": str(path),
                "changed": adoption.changes,
                "diff": adoption.diff(path),
                "notes": adoption.notes,
                "problems": found.problems,
            }
        )
        return
    if adoption.changes:
        print(adoption.diff(path), end="")
        print(f"wrote {path}")
    else:
        print(f"{path}: nothing to adopt")
    sys.stdout.flush()
    print_notes(adoption.notes, found.problems)


def print_deletion(deletion: Deletion, found: Survey, *, as_json: bool, missing: Sequence[str] = ()) -> None:
    """Print what was deleted, keys of the fleet file that still name it, and on standard error why others were not.

    The list, which was printed before, has the problems of `found`; JSON has both.
    """
    if as_json:
        problems = dict.fromkeys((*found.problems, *deletion.problems))
        ids = {"deleted": [item.id for item in deletion.deleted], "kept": [item.id for item in deletion.kept]}
        print_json({**ids, "missing": missing, "problems": list(problems)})
        return
    for item in deletion.deleted:
        how = f"scheduled for deletion in {KEY_DAYS} days" if item.kind == KEY else "deleted"
        print(f"{how}: {item.kind} {item.id}")
    for item in deletion.kept:
        print(f"kept: {item.kind} {item.id}")
    if missing:
        print("the fleet file still names what was deleted:")
        print("".join(f"  {one}\n" for one in missing), end="")
        print(RESTORE)
    sys.stdout.flush()
    print_notes((), [problem for problem in deletion.problems if problem not in found.problems])


def _sum(found: Survey, fleet: Fleet) -> str:
    if not found.items:
        what = "nothing found, but not every call succeeded" if found.problems else "no retained resources"
        return f"{fleet.name} in {fleet.region}: {what}"
    known = sum((item.described.month_usd or NO_CHARGE for item in found.items), Decimal(0))
    unknown = sum(item.described.month_usd is None for item in found.items)
    text = f"{counted(len(found.items), 'retained resource')}, {in_dollars(known)} per month"
    return f"{text}, and {unknown} without a known price" if unknown else text


def _row(item: Retained, fleet: Fleet) -> dict[str, Cell]:
    described = item.described
    return {
        "kind": item.kind,
        "id": item.id,
        "name": described.name if described.name != item.id else None,
        "since": f"{item.since:%Y-%m-%d}" if item.since else None,
        "size": described.size or None,
        "month": _price(item),
        "users": Toned(_users(item.vpc_users), Tone.WARNING),
        "key": str(fleet_key(item, fleet)),
    }


def _users(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _USERS} more" if len(ids) > _USERS else ""
    return ", ".join(ids[:_USERS]) + more


def _price(item: Retained) -> Toned:
    usd = item.described.month_usd
    if not item.is_checked:
        return Toned(_NOT_QUERIED, Tone.WARNING)
    if usd is None:
        return Toned(_NOT_KNOWN, Tone.WARNING)
    place = f" in {item.described.price_region}" if item.described.price_region else ""
    return Toned("no charge" if usd == NO_CHARGE else f"{in_dollars(usd)}{place}")


def _data(item: Retained, fleet: Fleet) -> dict[str, Any]:
    key = fleet_key(item, fleet)
    return {
        "kind": item.kind,
        "id": item.id,
        "name": item.described.name,
        "stack": item.trace.stack,
        "resource_type": item.trace.resource_type,
        "logical_id": item.trace.logical_id or None,
        "since": item.since,
        "size": item.described.size or None,
        "month_usd": as_number(item.described.month_usd),
        "price_region": item.described.price_region or None,
        "checked": item.is_checked,
        "vpc_users": item.vpc_users,
        "key": ".".join(key.path) or None,
        "used": key.used,
        "reason": key.reason or None,
    }
