"""The report of a run: JSON, and the differences between two reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        "value": one.value,
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
