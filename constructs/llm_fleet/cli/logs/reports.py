"""Reads the reports that nodes left in S3: they are there before a failing script ends, when the log may not be."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.cli.aws.clients import AwsRefusal, told_of_aws
from llm_fleet.cli.logs.node_runs import NodeRun, Source, StepRun
from llm_fleet.cli.terminal.screen import progress
from llm_fleet.rules.command_codes import CommandCode

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_REPORT = "/report.json"
_MANIFEST = "fleet.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReports:
    """The reports of one cluster."""

    uri: str
    newest: Mapping[str, str]
    """By node, the URI of the last report."""


def reports_uri(client: "S3Client", bundle_uris: Iterable[str]) -> str | None:
    """Return where the nodes of a cluster leave reports, as the manifest of its deployed bundle says.

    `None`: nowhere, or none of the bundles is llm-fleet's.
    """
    for uri in dict.fromkeys(bundle_uris):
        bucket, prefix = split_uri(uri)
        try:
            told = _json(client, bucket, f"{prefix.rstrip('/')}/{_MANIFEST}")
        except AwsRefusal as refused:
            if refused.code is CommandCode.GONE:
                continue
            raise
        place: Mapping[str, Any] = told.get("reports") or {}
        if place.get("s3_uri"):
            return str(place["s3_uri"])
    return None


def stored_reports(client: "S3Client", uri: str) -> StoredReports:
    """Return which nodes have reports below `uri`: `<node>/<time>/report.json`."""
    bucket, prefix = split_uri(uri)
    newest: dict[str, str] = {}
    with told_of_aws(f"reports in {uri}"), progress("reports") as step:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            step()
            for found in page.get("Contents", []):
                key = found.get("Key", "")
                if key.endswith(_REPORT) and key.count("/") >= prefix.count("/") + 2:
                    node = key.removeprefix(prefix).partition("/")[0]
                    newest[node] = max(newest.get(node, ""), f"s3://{bucket}/{key}")
    return StoredReports(uri=uri, newest=newest)


def read_report(client: "S3Client", uri: str, *, node: str, lives: bool) -> NodeRun | None:
    """Return what a report tells; `None` where it is none of ours, or gone by now."""
    bucket, key = split_uri(uri)
    try:
        told = _json(client, bucket, key)
        return _run(told, node=node, lives=lives, uri=uri)
    except AwsRefusal as refused:
        if refused.code is CommandCode.GONE:
            return None
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def split_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of `s3://bucket/key`."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def _json(client: "S3Client", bucket: str, key: str) -> dict[str, Any]:
    with told_of_aws(f"s3://{bucket}/{key}"):
        body = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    try:
        told: Any = json.loads(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _run(told: dict[str, Any], *, node: str, lives: bool, uri: str) -> NodeRun:
    who: Mapping[str, Any] = told.get("node") or {}
    return NodeRun(
        node=node,
        group=str(who.get("group", "unknown")),
        source=Source.REPORT,
        lives=lives,
        hook=told.get("hook"),
        started=_time(told.get("started")),
        seconds=told.get("seconds"),
        code=str(told["code"]),
        cause=told.get("cause"),
        remedy=told.get("remedy"),
        steps=tuple(_step(step) for step in told.get("steps", ())),
        place=uri,
    )


def _step(step: Mapping[str, Any]) -> StepRun:
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
