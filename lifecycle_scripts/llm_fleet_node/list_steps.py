"""`--list` prints the steps, `--dry-run` the steps that would be applied; both change nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from llm_fleet_node.arguments import LIST, Arguments
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.graph import Graph, build
from llm_fleet_node.host import Host
from llm_fleet_node.identity import Identity
from llm_fleet_node.limits import Limits
from llm_fleet_node.log import Log
from llm_fleet_node.manifest import Group, Manifest
from llm_fleet_node.node import Node
from llm_fleet_node.outcome import VERIFIED, WOULD_BE_APPLIED
from llm_fleet_node.places import Places
from llm_fleet_node.prepare import Prepared, describe, known_steps, prepare, read_bundle, why_not_needed

ALL_VERIFIED, CHANGES_NEEDED = 0, 2
"""Exit codes of a dry run: everything is verified, or steps would be applied. 1 for an error."""
_NO_ROOT = "no-node"
"""A root below the bundle that does not exist, so that nothing of this machine is read."""


def print_steps(requested: Arguments, places: Places) -> int:
    """Print what `requested` selects and return the exit code. Writes nothing to disk."""
    log = Log(None, started=time.time(), silent=True)
    manifest = read_bundle(places, requested.hook, log.line)
    if requested.mode == LIST:
        prepared = (
            _on_paper(requested, manifest, places)
            if requested.role
            else prepare(requested, manifest, places, Limits.of_this_node(), log.line, {})
        )
        return _say(requested, _listed(prepared), _list_lines)
    prepared = prepare(requested, manifest, places, Limits.of_this_node(), log.line, {})
    return _dry_run(requested, prepared)


def _on_paper(requested: Arguments, manifest: Manifest, places: Places) -> Prepared:
    """Return the steps for a node of the role, only from the manifest."""
    group = _group(requested, manifest)
    identity = Identity(
        group=group,
        instance_id=None,
        instance_name=None,
        instance_type=None,
        controllers=(),
        neighbors=(),
        addresses=(),
        testimonies=(),
    )
    node = Node(manifest, identity, places, Host(places.bundle / _NO_ROOT), requested.hook, lambda _: None)
    known = known_steps(places, manifest)
    graph = build(known, group.role, requested.hook, manifest.steps.skip, lambda step: why_not_needed(step, node))
    return Prepared(node, graph)


def _group(requested: Arguments, manifest: Manifest) -> Group:
    for group in manifest.groups:
        if group.role == requested.role and requested.group in (None, group.name):
            return group
    named = ", ".join(f"{group.name} ({group.role})" for group in manifest.groups)
    group = f"group {requested.group}" if requested.group else "group"
    fail(
        Code.ARGUMENTS,
        f"the manifest has no {group} with the role {requested.role}; its groups are {named}",
        final=True,
    )


def _listed(prepared: Prepared) -> dict[str, Any]:
    graph = prepared.graph
    return {
        "node": describe(prepared.node.identity),
        "hook": prepared.node.hook,
        "bundle": prepared.node.manifest.content_hash,
        "waves": [[_step(graph, name) for name in wave] for wave in graph.waves()],
        "skipped": graph.skipped,
    }


def _step(graph: Graph, name: str) -> dict[str, Any]:
    step = graph.steps[name]
    return {
        "name": name,
        "summary": step.summary,
        "needs": sorted(graph.needs[name]),
        "after": sorted(graph.after[name] - graph.needs[name]),
        "timeout": step.timeout,
        "retries": step.retries,
    }


def _list_lines(result: dict[str, Any]) -> list[str]:
    node = result["node"]
    lines = [f"{result['hook']} on a node of group {node['group']}, role {node['role']}:"]
    for number, wave in enumerate(result["waves"], start=1):
        for step in wave:
            waits = [*step["needs"], *(f"({name})" for name in step["after"])]
            lines.append(f"{number:>3}  {step['name']:<20}  {step['summary']}" + _after(waits))
    return lines + [f"  -  {name:<20}  skipped: {why}" for name, why in sorted(result["skipped"].items())]


def _after(waits: list[str]) -> str:
    return f"; after {', '.join(waits)}" if waits else ""


def _dry_run(requested: Arguments, prepared: Prepared) -> int:
    from llm_fleet_node.child import VERIFY
    from llm_fleet_node.run_steps import Runner

    graph = prepared.graph.loose()
    wanted = prepared.graph.with_needs(requested.only) if requested.only else graph.steps.keys()
    runner = Runner(
        graph,
        prepared.node,
        how=dict.fromkeys(wanted, VERIFY),
        side_by_side=Limits.of_this_node().side_by_side,
        clock=time.monotonic,
        changed=lambda _: None,
    )
    runner.run()
    steps: list[dict[str, Any]] = []
    for name in prepared.graph.steps:
        if name in runner.outcomes:
            failure = runner.outcomes[name].failure
            steps.append(
                {
                    "name": name,
                    "state": WOULD_BE_APPLIED if failure else VERIFIED,
                    "code": failure.code.code if failure else None,
                    "why": failure.cause if failure else None,
                }
            )
    result = {"node": describe(prepared.node.identity), "hook": requested.hook, "steps": steps}
    _say(requested, result, _dry_lines)
    return CHANGES_NEEDED if any(step["why"] for step in steps) else ALL_VERIFIED


def _dry_lines(result: dict[str, Any]) -> list[str]:
    return [
        f"{step['name']:<20}  {step['state']}" + (f": {step['why']}" if step["why"] else "") for step in result["steps"]
    ]


def _say(requested: Arguments, result: dict[str, Any], lines: Callable[[dict[str, Any]], list[str]]) -> int:
    if requested.json:
        import json

        print(json.dumps(result, indent=2))
    else:
        print("\n".join(lines(result)))
    sys.stdout.flush()
    return 0
