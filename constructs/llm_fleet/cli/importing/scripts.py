"""Turns the lifecycle configuration of a request into that of a fleet file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.importing.notes import Notes

_PLACE = re.compile(r"s3://([^/]+)/?(.*)")
_WHY_AFTER = "OnInitComplete runs after the AMI has set up Slurm, where OnCreate would have to do all of it"


@dataclass(slots=True)
class Lifecycle:
    """What becomes of the lifecycle configuration."""

    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster."""
    groups: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Keys of each group by name."""


def lifecycle(groups: Sequence[Mapping[str, Any]], notes: Notes) -> Lifecycle:
    """Return where scripts come from and when they run.

    Scripts that exist stay as they are, and run when they did: one written for OnCreate sets up Slurm, and must not do
    it a second time. A placeholder stands for no script at all; there the fleet's own bundle and defaults serve.
    """
    configured = [group for group in groups if "LifeCycleConfig" in group]
    places = {str(group["LifeCycleConfig"].get("SourceS3Uri", "")) for group in configured}
    if not configured:
        notes.chosen("the lifecycle scripts of llm-fleet, by OnInitComplete: the request has no LifeCycleConfig")
        return Lifecycle()
    place = _PLACE.fullmatch(next(iter(places))) if len(places) == 1 else None
    if place is None or not place[1].startswith(load("lifecycle")["bucket_prefix"]):
        return _replaced(configured, places, notes)
    return _kept(configured, bucket=place[1], prefix=place[2].strip("/"), notes=notes)


def _replaced(configured: Sequence[Mapping[str, Any]], places: set[str], notes: Notes) -> Lifecycle:
    for place in sorted(places):
        match = _PLACE.fullmatch(place)
        if match is None or "<" in place or "$" in place:
            notes.mended(f"SourceS3Uri {place or '(none)'} names no bucket: the fleet makes one for its own bundle")
        elif len(places) > 1:
            notes.left_out(f"SourceS3Uri {place}: a cluster has one place for scripts; the fleet's own bundle is used")
        else:
            prefix = load("lifecycle")["bucket_prefix"]
            notes.left_out(
                f"SourceS3Uri {place}: nodes may only read buckets whose name begins with {prefix}; "
                "the fleet's own bundle is used"
            )
    legacy = [str(group["InstanceGroupName"]) for group in configured if "OnCreate" in group["LifeCycleConfig"]]
    if legacy:
        notes.mended(f"OnCreate of {', '.join(legacy)} becomes the default, OnInitComplete: {_WHY_AFTER}")
    return Lifecycle()


def _kept(configured: Sequence[Mapping[str, Any]], *, bucket: str, prefix: str, notes: Notes) -> Lifecycle:
    told = Lifecycle(cluster={"scripts": {"bucket": bucket, "prefix": prefix}})
    notes.chosen(f"your own scripts in s3://{bucket}/{prefix} are used as they lie there")
    for group in configured:
        config, name = group["LifeCycleConfig"], str(group["InstanceGroupName"])
        hooks = {"on_create": config.get("OnCreate"), "on_init_complete": config.get("OnInitComplete")}
        told.groups[name] = {key: value for key, value in hooks.items() if value} or {"lifecycle": "none"}
        if hooks["on_create"]:
            notes.chosen(f"{name} keeps OnCreate for your script; to let the AMI set up Slurm, use on_init_complete")
    return told
