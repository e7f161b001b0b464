"""Every step of every role is killed once while it runs, and runs again: the node ends like one without a kill."""

from __future__ import annotations

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fingerprint import differences, fingerprint
from llm_fleet_local.drill.nodes.node import Running
from llm_fleet_local.drill.scenarios.conftest import Deploy

_STATE = "var/lib/llm-fleet/state.json"
_OWN_TO_EACH = ("/home/.llm-fleet/", "/etc/hostname", "/etc/machine-id", "/etc/ssh/ssh_host_", "/etc/munge")
_LITTER = re.compile(r"^/etc/(group|gshadow|passwd|shadow|subgid|subuid)(\.\d+|\.lock|[-+])$")
"""Lock files that groupadd and useradd leave when they are killed, and ignore at the next call."""
_BUNDLE = re.compile(r"^/opt/llm-fleet/bundles/[0-9a-f]{64}")
_ROLES = ("Controller", "Login", "Compute")
_ROUNDS = 60
"""More rounds than a role has steps: a step that ended before it was seen is killed in a later round."""


def test_every_step_is_killed_once_in_its_middle(deploy: Deploy, cluster: DrillCluster):
    """Compared with a node of that role in an undisturbed cluster, and with itself after one more run."""
    with deploy(1) as fresh:
        fresh.boot()
        lasts = {role: _durations(cluster, _first(cluster, role)) for role in _ROLES}
        with ThreadPoolExecutor(3) as pool:
            sets = pool.map(partial(_kill_role, fresh, lasts), _ROLES)
            killed = dict(zip(_ROLES, sets, strict=True))
        for role, steps in killed.items():
            assert steps == set(lasts[role]), f"{role}: {set(lasts[role]) - steps} were never killed"

        fresh.run_scripts()
        fresh.srun_over_all()
        before = {name: fingerprint(node) for name, node in fresh.nodes.items()}
        fresh.run_scripts()
        for name, node in fresh.nodes.items():
            assert differences(before[name], fingerprint(node)) == [], f"{name} had not come to rest"
            role = fresh.view.group(fresh.instance(name).group).role
            undisturbed = _shape(fingerprint(cluster.node(_first(cluster, role))))
            assert sorted(_shape(before[name]) ^ undisturbed) == [], f"{name}: files that only one of the two has"


def _first(cluster: DrillCluster, role: str) -> str:
    return cluster.view.of_role(role)[0].name


def _durations(cluster: DrillCluster, name: str) -> dict[str, float]:
    """Return how long each step took on an undisturbed node."""
    first = next(run for run in cluster.script_runs if run.node == name)
    return {
        step.name: (step.ended or 0) - (step.started or 0)
        for step in first.steps
        if step.state == "done" and step.started
    }


def _kill_role(cluster: DrillCluster, lasts: dict[str, dict[str, float]], role: str) -> set[str]:
    return _kill_each(cluster, _first(cluster, role), lasts[role])


def _kill_each(cluster: DrillCluster, name: str, lasts: dict[str, float]) -> set[str]:
    """Start the node's script repeatedly; kill it each time during a step that was not killed yet."""
    killed: set[str] = set()
    state = cluster.node(name).root / _STATE
    for _ in range(_ROUNDS):
        wanted = set(lasts) - killed
        if not wanted:
            break
        run = cluster.start_scripts([name]).starts[name].run
        step = _wait_for_a_step(state, wanted, run)
        if step is None:  # each ended before it was seen: without its state all are applied again
            cluster.node(name).run("rm", "-f", f"/{_STATE}")
            continue
        threading.Event().wait(min(lasts[step] / 2, 1.0))
        run.kill()
        killed.add(step)
    return killed


def _wait_for_a_step(state: Any, wanted: set[str], run: Running) -> str | None:
    """Return a step of `wanted` that runs now; `None` when the script has ended without one being seen."""
    while run.poll() is None:
        try:
            steps: dict[str, dict[str, Any]] = json.loads(state.read_text())["steps"]
        except (OSError, ValueError, KeyError):
            steps = {}
        for name, step in steps.items():
            if name in wanted and step["state"] == "running":
                return name
        time.sleep(0.002)
    return None


def _shape(fingerprint: dict[str, object]) -> set[str]:
    """Return what nodes of one role have in common in two clusters: names of files, and running units."""
    units = {f"{name}: {what}" for name, what in fingerprint.items() if name.endswith("units")}
    files = {_BUNDLE.sub("/opt/llm-fleet/bundles/this", name) for name in fingerprint if name.startswith("/")}
    return units | {name for name in files if not name.startswith(_OWN_TO_EACH) and not _LITTER.match(name)}
