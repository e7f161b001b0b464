"""The report as one self-contained HTML page, with a picture of the time that each experiment took."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from llm_fleet.cli.prove.experiment import Outcome

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
        yield from (_call(call) for call in row["calls"])
        yield "</td></tr>"
    yield "</table>"


def _call(call: Mapping[str, Any]) -> str:
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
