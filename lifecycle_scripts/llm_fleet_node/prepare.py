"""Preparation of a start, before anything is changed: bundle check, identity and step graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from llm_fleet_node import checksums, manifest
from llm_fleet_node.arguments import Arguments
from llm_fleet_node.custom_steps import custom_steps
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.graph import Graph, build
from llm_fleet_node.host import Host
from llm_fleet_node.identity import Identity, identify_in_time
from llm_fleet_node.limits import Limits
from llm_fleet_node.manifest import Manifest
from llm_fleet_node.node import Node
from llm_fleet_node.places import Places
from llm_fleet_node.step import Step
from llm_fleet_node.steps import every_step

Say = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """A node with its steps."""

    node: Node
    graph: Graph


def read_bundle(places: Places, hook: str, say: Say) -> Manifest:
    """Return the manifest of the bundle. Raises `Failure` unless the bundle is the one that was published."""
    reported = manifest.read(places.bundle)
    say(f"{hook}: fleet {reported.fleet}, cluster {reported.cluster or '(any)'}, bundle {reported.content_hash[:16]}")
    files = checksums.verify(places.bundle, reported.scripts_sha256)
    say(f"bundle: {files} files match the published checksums")
    return reported


def prepare(
    requested: Arguments, reported: Manifest, places: Places, limits: Limits, say: Say, record: dict[str, Any]
) -> Prepared:
    """Identify this node and select its steps; the identity is added to `record`.

    Raises `Failure` if either is ambiguous.
    """
    known = known_steps(places, reported)
    identity = identify_in_time(places, reported, seconds=limits.platform, given=requested.group, say=say)
    say(f"node: {identity.group.role} of group {identity.group.name}")
    record["node"] = describe(identity)
    _check_hook(requested.hook, identity, reported)
    node = Node(reported, identity, places, Host(places.root), requested.hook, say)
    graph = build(known, node.role, requested.hook, reported.steps.skip, lambda step: why_not_needed(step, node))
    strangers = sorted(set(requested.only) - graph.steps.keys())
    if strangers:
        reasons = "; ".join(f"{name}: {graph.skipped.get(name, 'no such step')}" for name in strangers)
        fail(Code.STEP_UNKNOWN, f"--only names steps that this node does not run ({reasons})")
    return Prepared(node, graph)


def known_steps(places: Places, reported: Manifest) -> dict[str, Step]:
    """Return the built-in and the custom steps. Raises `Failure` if one cannot be loaded."""
    shipped = every_step()
    return {**shipped, **custom_steps(places.bundle, reported.steps.own, shipped)}


def why_not_needed(step: Step, node: Node) -> Optional[str]:
    """Return why `node` does not need `step`; `None` if it does. Raises `Failure` if the check has an error."""
    try:
        return step.skip(node)
    except Failure:
        raise
    except Exception as error:
        raise Failure(Code.STEP_NOT_LOADED, f"{step.name}: the check whether it is needed failed: {error!r}") from error


def describe(identity: Identity) -> dict[str, Any]:
    """Return the node's identity for the report."""
    return {
        "group": identity.group.name,
        "role": identity.group.role,
        "partition": identity.group.partition,
        "instance_id": identity.instance_id,
        "instance_name": identity.instance_name,
        "instance_type": identity.instance_type,
        "addresses": list(identity.addresses),
        "witnesses": [
            {
                "witness": testimony.witness,
                "groups": sorted(testimony.groups) if testimony.groups is not None else None,
                "says": testimony.says,
            }
            for testimony in identity.testimonies
        ],
    }


def _check_hook(hook: str, identity: Identity, reported: Manifest) -> None:
    """Raise `Failure` if the group uses another hook."""
    if identity.group.hook != hook:
        expected = identity.group.hook or "none"
        fail(
            Code.HOOK_MISMATCH,
            f"group {identity.group.name} was started with {hook}, but the bundle of {reported.fleet} has {expected}",
        )
