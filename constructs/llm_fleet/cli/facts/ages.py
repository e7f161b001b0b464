"""Sources, dates and ages of facts: the table of `llm-fleet facts`, and the note about old facts of `validate`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from llm_fleet.catalog.data_file import DataFile, every_data_file
from llm_fleet.cli.screen import Screen, Tone, Toned, counted
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import FactsCode

OLD_DAYS = 182
"""Facts older than half a year are reported."""
_NARROW = 120
"""On a narrower screen the table has no sources."""
_CUT = 40
"""Longest source in the table."""
_ALWAYS = "always"
"""Instead of a date: each run of the tests checks these facts."""


def old_files(used: Iterable[DataFile], today: date) -> list[DataFile]:
    """Return those of `used` that are older than half a year, the oldest first."""
    return sorted((one for one in used if (one.age_days(today) or 0) > OLD_DAYS), key=_order)


def note_of_old(old: Sequence[DataFile], today: date) -> Iterator[str]:
    """Yield one line about `old`, the result of `old_files`; nothing if it is empty."""
    if old:
        yield (
            f"{counted(len(old), 'file')} of facts that this fleet depends on {'is' if len(old) == 1 else 'are'} older "
            f"than half a year, the oldest is `{old[0].name}` ({old[0].age_days(today)} days); install a newer release "
            "of llm-fleet, or check the sources that `llm-fleet facts` shows"
        )


def facts_named(names: Sequence[str] | None, *, of_account: Iterable[DataFile] = ()) -> list[DataFile]:
    """Return the files of facts, sources of prices and facts `of_account` of those names (`None`: all), the oldest
    first.

    Raises `FleetError` (LF1240) for an unknown name.
    """
    from llm_fleet.catalog.ec2_instances import price_sources
    from llm_fleet.rules.values import did_you_mean

    known = {one.name: one for one in (*every_data_file(), *price_sources(), *of_account)}
    for name in names or ():
        if name not in known:
            refuse(
                FactsCode.UNKNOWN_NAME,
                "there are no facts of this name",
                did_you_mean(name, known, otherwise="run `llm-fleet facts`, which shows all names"),
                subject="--only",
                value=name,
            )
    return sorted((known[name] for name in dict.fromkeys(names or known)), key=_order)


def _order(one: DataFile) -> tuple[date, str]:
    return one.checked or date.max, one.name


def as_data(found: Iterable[DataFile], today: date) -> dict[str, Any]:
    """Return the facts for JSON. `checked` and `age_days` are null for facts that do not age."""
    return {
        "today": today,
        "facts": [
            {
                "name": one.name,
                "what": one.what,
                "source": one.source,
                "checked": one.checked,
                "age_days": one.age_days(today),
            }
            for one in found
        ],
    }


def as_text(found: Sequence[DataFile], today: date, screen: Screen, *, whole_source: bool) -> str:
    """Return the facts as a table, which has shortened sources and on a narrow screen none, unless `whole_source`."""
    from llm_fleet.cli.table import Cell, Column, Table

    sources = whole_source or screen.width is None or screen.width >= _NARROW
    columns = (
        Column(key="name", title="NAME"),
        Column(key="checked", title="CHECKED"),
        Column(key="age", title="DAYS", right=True),
        Column(key="what", title="WHAT", wraps=not whole_source),
        Column(key="source", title="SOURCE", wraps=whole_source),
    )
    rows: list[dict[str, Cell]] = [
        {
            "name": one.name,
            "checked": _ALWAYS if one.checked is None else one.checked.isoformat(),
            "age": _age(one, today),
            "what": one.what,
            **({"source": one.source if whole_source else _short(one.source)} if sources else {}),
        }
        for one in found
    ]
    text = Table(columns=columns, rows=rows).text(screen)
    return text if whole_source else f"{text}whole sources: --only NAME, or --json\n"


def _age(one: DataFile, today: date) -> Toned | None:
    days = one.age_days(today)
    return None if days is None else Toned(str(days), Tone.WARNING if days > OLD_DAYS else Tone.PLAIN)


def _short(source: str) -> str:
    return source if len(source) <= _CUT else f"{source[: _CUT - 1].rstrip()}…"
