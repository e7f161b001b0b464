"""The report of a run: JSON, one self-contained HTML page, and the differences between two reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn, cast

from llm_fleet.catalog.assumptions import Assumption
from llm_fleet.cli.bundle.redact import Redactor
from llm_fleet.cli.prove.experiment import Observation, Outcome, Verdict
from llm_fleet.cli.prove.undo_journal import Left
from llm_fleet.cli.screen import plain_data
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import ProveCode

FORM = 1
"""Version of the report's form."""
Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is the same for all claims of a run."""

    fleet: str
    region: str
    account: str
    run: str
    started: str
    """By this machine's clock, UTC."""
    seconds: float
    versions: Mapping[str, str]


def report_of(
    run: Run,
    claims: Iterable[Assumption],
    verdicts: Mapping[str, Verdict],
    left: Iterable[Left],
    *,
    show_account: bool,
) -> dict[str, Any]:
    """Return the report as JSON data, without secrets, and without account ids unless `show_account`.

    A claim without a verdict was not tested: its experiment is not one that the command can make.
    """
    rows = [_claim(one, verdicts.get(one.id)) for one in claims]
    stacks = [_row(verdict) for name, verdict in verdicts.items() if name.startswith("stack ")]
    whole = {
        "form": FORM,
        "run": {
            "id": run.run,
            "fleet": run.fleet,
            "region": run.region,
            "account": run.account,
            "started": run.started,
            "seconds": run.seconds,
            **run.versions,
        },
        "claims": rows,
        "stacks": stacks,
        "left": [_left(one) for one in left],
    }
    return Redactor(mask_accounts=not show_account).data(json.loads(json.dumps(whole, default=plain_data)))


def _claim(one: Assumption, verdict: Verdict | None) -> dict[str, Any]:
    shown = {"id": one.id, "claim": one.claim, "tier": one.tier}
    if verdict is None:
        reason = f"by hand: {one.experiment} ({one.cost})"
        return {**shown, "outcome": Outcome.NOT_TESTED.value, "reason": reason, "calls": []}
    return {**shown, **_row(verdict)}


def _row(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.name,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "calls": [_call(one) for one in verdict.observations],
    }


def _call(one: Observation) -> dict[str, Any]:
    answer = one.answer
    refused = answer.refused
    return {
        "call": answer.call,
        "region": answer.region,
        "request_id": answer.request_id,
        "time": answer.time,
        "seconds": answer.seconds,
        "error": None if refused is None else {"code": refused.code, "message": refused.message},
        # Not lists and objects: they may describe resources of others.
        "value": one.value if isinstance(one.value, str | int | float | None) else f"{len(one.value)} items",
        "deviation": one.deviation,
    }


def _left(one: Left) -> dict[str, Any]:
    removal = one.removal
    return {"call": removal.call, "arguments": dict(removal.arguments), "region": removal.region, "why": one.why}


def read_report(path: Path) -> Report:
    """Return the report in the file `path`. Raises `FleetError` (LF1262)."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        missing = {"form", "run", "claims", "stacks", "left"} - set(found)
    except (OSError, ValueError, TypeError) as error:
        _refuse_report(path, f"{type(error).__name__}: {error}")
    if missing:
        _refuse_report(path, f"it has no {', '.join(sorted(missing))}")
    if found["form"] != FORM:
        _refuse_report(path, f"its form is {found['form']}, and this version reads {FORM}")
    return cast("Report", found)


def _refuse_report(path: Path, why: str) -> NoReturn:
    remedy = "name a report.json that `llm-fleet prove` wrote"
    refuse(ProveCode.REPORT, f"not a report: {why}", remedy, subject=str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A claim or a stack about which two reports do not agree."""

    name: str
    what: str
    before: str
    after: str


def differences(before: Report, after: Report) -> tuple[Difference, ...]:
    """Return where `after` differs from `before`: outcomes, and errors and values that AWS answered.

    Names of the runs, request ids and times differ always and are not compared.
    """
    first, second = _rows(before), _rows(after)
    names = [*first, *(name for name in second if name not in first)]
    return tuple(each for name in names for each in _compared(name, first.get(name), second.get(name)))


def _rows(report: Report) -> dict[str, Mapping[str, Any]]:
    run = re.compile(re.escape(str(report["run"]["id"])))
    rows: Sequence[Mapping[str, Any]] = [*report["claims"], *report["stacks"]]
    return {row["id"]: json.loads(run.sub("<run>", json.dumps(row))) for row in rows}


def _compared(name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[Difference]:
    outcomes = ["not in this report" if row is None else row["outcome"] for row in (before, after)]
    if outcomes[0] != outcomes[1]:
        yield Difference(name=name, what="outcome", before=outcomes[0], after=outcomes[1])
    if before is None or after is None:
        return
    for first, second in zip(before["calls"], after["calls"], strict=False):
        if first["call"] != second["call"]:
            break
        for key in ("error", "value"):
            if first[key] != second[key]:
                yield Difference(name=name, what=f"{first['call']}: {key}", before=_text(first), after=_text(second))


def _text(call: Mapping[str, Any]) -> str:
    error = call["error"]
    return f"{error['code']}: {error['message']}" if error else json.dumps(call["value"])


_SHOWN = {Outcome.DISPROVEN: "Disproven", Outcome.PROVEN: "Proven", Outcome.NOT_TESTED: "Not tested"}
"""Titles, in the order of the page."""
_WIDTH = 100
"""Percent of the longest bar."""


def page(report: Mapping[str, Any]) -> str:
    """Return the HTML of a report."""
    run: Mapping[str, Any] = report["run"]
    title = f"{run['fleet']} in {run['region']}: what AWS answered"
    body = "".join(_body(report, title))
    style = files("llm_fleet.cli.prove").joinpath("report_page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head>\n'
        f"<body>{body}</body></html>\n"
    )


def _body(report: Mapping[str, Any], title: str) -> Iterator[str]:
    run, rows = report["run"], [*report["claims"], *report["stacks"]]
    yield f"<h1>{escape(title)}</h1>"
    versions = ", ".join(f"{key.replace('_', '-')} {run[key]}" for key in ("llm_fleet", "boto3"))
    yield f"<p>Account {escape(run['account'])}, {escape(run['started'])}, {run['seconds']} s; {escape(versions)}.</p>"
    counts = {outcome: sum(row["outcome"] == outcome for row in rows) for outcome in _SHOWN}
    yield "<ul class=counts>"
    yield from (f'<li class="{_class(each)}"><b>{number}</b> {_SHOWN[each]}</li>' for each, number in counts.items())
    yield "</ul>"
    if report["left"]:
        yield "<h2>Left in the account</h2><ul>"
        yield from (
            f"<li><code>{escape(one['call'])}</code> failed: {escape(one['why'])}</li>" for one in report["left"]
        )
        yield "</ul>"
    for outcome, words in _SHOWN.items():
        found = [row for row in rows if row["outcome"] == outcome]
        if found:
            yield f"<h2>{words}</h2>"
            yield from _table(found)
    yield from _times([row for row in rows if row["calls"]])


def _class(outcome: Outcome) -> str:
    return outcome.value.replace(" ", "-")


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "<table>"
    for row in rows:
        yield f"<tr><td><b>{escape(row['id'])}</b><br>{escape(row.get('claim', ''))}</td><td>"
        yield f"<p>{escape(row['reason'])}</p>" if row["reason"] else ""
        yield from (_call_shown(call) for call in row["calls"])
        yield "</td></tr>"
    yield "</table>"


def _call_shown(call: Mapping[str, Any]) -> str:
    error = call["error"]
    answer = f"{error['code']}: {error['message']}" if error else "accepted"
    request = f"request {call['request_id']}, {call['time']}" if call["request_id"] else "no answer of AWS"
    return f"<p><code>{escape(call['call'])}</code> {escape(answer)}<br><small>{escape(request)}</small></p>"


def _times(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one bar for each experiment, as long as its calls took."""
    seconds = {row["id"]: sum(call["seconds"] for call in row["calls"]) for row in rows}
    longest = max(seconds.values(), default=0)
    if not longest:
        return
    yield "<h2>Seconds</h2><table class=times>"
    for name, took in seconds.items():
        width = _WIDTH * took / longest
        yield f'<tr><td>{escape(name)}</td><td><i style="width:{width:.1f}%"></i> {took:.1f}</td></tr>'
    yield "</table>"
