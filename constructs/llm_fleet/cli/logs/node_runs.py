"""Runs of the lifecycle scripts, read from their logs and from the reports that nodes write to S3."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.cli.clients import AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.logs.log_streams import LogLine
from llm_fleet.cli.screen import progress

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class Source(StrEnum):
    """Source of a run."""

    LOG = "log"
    """The log in CloudWatch."""
    REPORT = "report"
    """The report that the node wrote to S3."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A step of a run."""

    name: str
    state: str
    """`done`, `failed`, `not reached`, `running`."""
    seconds: float | None = None
    code: str | None = None
    cause: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """A node's last run."""

    node: str
    """Instance id, or the host name if the platform has none."""
    group: str
    source: Source
    lives: bool = True
    """Whether the cluster still has the node; a failed node is soon replaced."""
    hook: str | None = None
    started: datetime | None = None
    seconds: float | None = None
    code: str | None = None
    """`OK` or `LFN…`; `None` if the run has not ended, or its result is unknown."""
    cause: str | None = None
    remedy: str | None = None
    steps: tuple[StepRun, ...] = ()
    failed_before: int = 0
    """Failed runs before this one in the log: a platform retries silently."""
    place: str | None = None
    """Log stream, or URI of the report."""

    @property
    def failed(self) -> bool:
        """Whether the run failed."""
        return self.code is not None and self.code != "OK"

    @property
    def step(self) -> str | None:
        """The step that failed first, or the running step."""
        reported = [step for step in self.steps if step.code or step.state == "failed"]
        running = [step for step in self.steps if step.state == "running"]
        if reported:
            return reported[0].name
        return running[-1].name if running and self.code is None else None

    @property
    def words(self) -> str:
        """The result in a word or two."""
        if self.code == "OK":
            return "ok"
        if self.code:
            return "FAILED"
        return "no log" if self.source is Source.NOTHING else "not ended"

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "node": self.node,
            "group": self.group,
            "lives": self.lives,
            "outcome": self.words,
            "hook": self.hook,
            "started": self.started,
            "seconds": self.seconds,
            "step": self.step,
            "code": self.code,
            "cause": self.cause,
            "remedy": self.remedy,
            "failed_before": self.failed_before,
            "source": self.source.value,
            "place": self.place,
            "steps": self.steps,
        }


HOOKS = ("OnCreate", "OnInitComplete", "OnNodeConfigured")
_HOOK = "|".join(HOOKS)
# A line begins with the seconds since the start; a platform may add a prefix.
_SECONDS = re.compile(r"(?:^|\s)\d+\.\d\d  (?=\S| {2,})")
_BEGINS = re.compile(rf"({_HOOK}): fleet ")
_ENDS = re.compile(rf"({_HOOK}): (OK|LFN\d+) after (\d+\.\d+) s$")
_STEP = re.compile(r"\[([a-z0-9_-]+)\] (.*)")
_STEP_FAILED = re.compile(r"(LFN\d+)  ([a-z0-9_-]+): (.*)")
_REFUSED = re.compile(r"(LFN\d+)  (.*)")
_REMEDY = re.compile(r"\s*remedy: (.*)")
_SUMMARY = re.compile(r" *(ok|FAILED|-)  ([a-z0-9_-]+) {2,}(\d+\.\d\d)?")
_EXIT = re.compile(r"Failed to execute \w+ script.*return code: (\d+)")
"""ParallelCluster's message for a failed script; the exit code is the number of the failure code."""
_SHIPPED_LATE = 0.2
"""Seconds between the message of a failure and the last line of the run."""
_STATES = {"ok": "done", "FAILED": "failed", "-": "not reached"}


@dataclass(slots=True)
class ParsedRun:
    """One run of a hook, from its first line to its last."""

    lines: list[LogLine] = field(default_factory=list[LogLine])
    hook: str | None = None
    code: str | None = None
    cause: str | None = None
    remedy: str | None = None
    seconds: float | None = None
    ended: bool = False
    steps: dict[str, StepRun] = field(default_factory=dict[str, StepRun])


def own_text(text: str) -> str | None:
    """Return a line of the lifecycle scripts without its timestamp; `None` for a line of another program."""
    found = _SECONDS.search(text, 0, 120)
    if found:
        return text[found.end() :].rstrip()
    stripped = text.strip()
    return stripped if _REFUSED.match(stripped) or _REMEDY.match(stripped) else None


def step_of(text: str) -> str | None:
    """Return the step of a line."""
    said = own_text(text) or ""
    found = _STEP.match(said) or _STEP_FAILED.match(said) or _SUMMARY.match(said)
    if not found:
        return None
    return found[1] if found.re is _STEP else found[2]


def parse_runs(lines: Iterable[LogLine]) -> list[ParsedRun]:
    """Return the runs in the lines of one stream, by time."""
    runs: list[ParsedRun] = []
    for run in _cut(lines):
        for line in run.lines:
            _read(run, line.text)
        if run.hook or run.code:
            runs.append(run)
    return runs


def _cut(lines: Iterable[LogLine]) -> Iterator[ParsedRun]:
    """Yield runs with their lines: a run begins with its first line, or after the last line of another run."""
    run = ParsedRun()
    for line in lines:
        said = own_text(line.text) or ""
        if run.lines and (_BEGINS.match(said) or _is_of_another(run, line.text)):
            yield run
            run = ParsedRun()
        run.lines.append(line)
        run.ended = run.ended or bool(_ENDS.match(said))
    if run.lines:
        yield run


def _is_of_another(run: ParsedRun, text: str) -> bool:
    """Whether a failure message after a run's last line is of another run.

    Standard error may arrive after standard output; then its timestamp is that of the last line.
    """
    if not run.ended or not _REFUSED.match(own_text(text) or ""):
        return False
    clock, last = _clock(text), max((_clock(line.text) or 0.0 for line in run.lines), default=0.0)
    return clock is None or last - clock > _SHIPPED_LATE


def _clock(text: str) -> float | None:
    found = _SECONDS.search(text, 0, 120)
    return float(found[0]) if found else None


def _read(run: ParsedRun, text: str) -> None:
    """Apply one line to the run."""
    exit_code = _EXIT.search(text)
    if exit_code and run.code is None:
        run.code = f"LFN{int(exit_code[1]):02}"
        return
    said = own_text(text)
    if said is None:
        return
    for pattern, take in _READERS:
        found = pattern.match(said)
        if found:
            take(run, found)
            return


def _begins(run: ParsedRun, found: re.Match[str]) -> None:
    run.hook = found[1]


def _ends(run: ParsedRun, found: re.Match[str]) -> None:
    run.hook, run.code, run.seconds = found[1], found[2], float(found[3])


def _step(run: ParsedRun, found: re.Match[str]) -> None:
    name, said = found[1], found[2]
    if said.startswith("begins: "):
        run.steps[name] = StepRun(name=name, state="running")
    elif said.partition(":")[0] in ("done", "failed", "not reached") and name in run.steps:
        run.steps[name] = StepRun(name=name, state=said.partition(":")[0])


def _summary(run: ParsedRun, found: re.Match[str]) -> None:
    seconds = float(found[3]) if found[3] else None
    run.steps[found[2]] = StepRun(name=found[2], state=_STATES[found[1]], seconds=seconds)


def _step_failed(run: ParsedRun, found: re.Match[str]) -> None:
    code, name, cause = found[1], found[2], found[3]
    before = run.steps.get(name)
    seconds = before.seconds if before else None
    run.steps[name] = StepRun(name=name, state="failed", seconds=seconds, code=code, cause=cause)
    if run.cause is None:
        run.code, run.cause = code, cause


def _refused(run: ParsedRun, found: re.Match[str]) -> None:
    if run.cause is None:
        run.code, run.cause = found[1], found[2]


def _remedy(run: ParsedRun, found: re.Match[str]) -> None:
    last = next((step for step in reversed(list(run.steps.values())) if step.code), None)
    if last is not None and last.remedy is None:
        run.steps[last.name] = replace(last, remedy=found[1])
    run.remedy = run.remedy or found[1]


_READERS = (
    (_BEGINS, _begins),
    (_ENDS, _ends),
    (_STEP, _step),
    (_STEP_FAILED, _step_failed),
    (_REFUSED, _refused),
    (_REMEDY, _remedy),
    (_SUMMARY, _summary),
)


def has_step(line: LogLine, step: str) -> bool:
    """Return whether a line is about `step`."""
    return step_of(line.text) == step


def has_code(line: LogLine, code: str) -> bool:
    """Return whether a line contains `code`."""
    return code in (own_text(line.text) or line.text).split()


_REPORT = "/report.json"
_MANIFEST = "fleet.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReports:
    """The reports of one cluster."""

    uri: str
    newest: Mapping[str, str]
    """URI of the last report by node."""


def reports_uri(client: "S3Client", bundle_uris: Iterable[str]) -> str | None:
    """Return the URI of the nodes' reports, from the manifest of the cluster's deployed lifecycle bundle.

    `None`: there are no reports, or none of the bundles is of llm-fleet.
    """
    for uri in dict.fromkeys(bundle_uris):
        bucket, prefix = split_uri(uri)
        try:
            reported = _json(client, bucket, f"{prefix.rstrip('/')}/{_MANIFEST}")
        except AwsGone:
            continue
        place: Mapping[str, Any] = reported.get("reports") or {}
        if place.get("s3_uri"):
            return str(place["s3_uri"])
    return None


def stored_reports(client: "S3Client", uri: str) -> StoredReports:
    """Return the newest report of each node below `uri`: `<node>/<time>/report.json`."""
    bucket, prefix = split_uri(uri)
    newest: dict[str, str] = {}
    with aws_errors_reported(f"reports in {uri}"), progress("reports") as step:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            step()
            for found in page.get("Contents", []):
                key = found.get("Key", "")
                if key.endswith(_REPORT) and key.count("/") >= prefix.count("/") + 2:
                    node = key.removeprefix(prefix).partition("/")[0]
                    newest[node] = max(newest.get(node, ""), f"s3://{bucket}/{key}")
    return StoredReports(uri=uri, newest=newest)


def read_report(client: "S3Client", uri: str, *, node: str, lives: bool) -> NodeRun | None:
    """Return the run of a report; `None` if it is not of llm-fleet, or was deleted."""
    bucket, key = split_uri(uri)
    try:
        return _run_of_report(_json(client, bucket, key), node=node, lives=lives, uri=uri)
    except AwsRefusal as refused:
        if isinstance(refused, AwsGone):
            return None
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def split_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of `s3://bucket/key`."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def _json(client: "S3Client", bucket: str, key: str) -> dict[str, Any]:
    with aws_errors_reported(f"s3://{bucket}/{key}"):
        body = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    try:
        reported: Any = json.loads(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", reported) if isinstance(reported, dict) else {}


def _run_of_report(reported: dict[str, Any], *, node: str, lives: bool, uri: str) -> NodeRun:
    who: Mapping[str, Any] = reported.get("node") or {}
    return NodeRun(
        node=node,
        group=str(who.get("group", "unknown")),
        source=Source.REPORT,
        lives=lives,
        hook=reported.get("hook"),
        started=_time(reported.get("started")),
        seconds=reported.get("seconds"),
        code=str(reported["code"]),
        cause=reported.get("cause"),
        remedy=reported.get("remedy"),
        steps=tuple(_step_of_report(step) for step in reported.get("steps", ())),
        place=uri,
    )


def _step_of_report(step: Mapping[str, Any]) -> StepRun:
    return StepRun(
        name=str(step["name"]),
        state=str(step["state"]).replace("_", " "),
        seconds=step.get("duration"),
        code=step.get("code"),
        cause=step.get("cause"),
        remedy=step.get("remedy"),
    )


def _time(text: object) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
