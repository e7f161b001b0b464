"""The step `metrics`: the program is installed, runs, and is verified by its values and their publishing."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Metrics
from llm_fleet_node.metrics.settings import fingerprint, read_settings
from llm_fleet_node.node import Node
from llm_fleet_node.steps import metrics as step
from llm_fleet_node.steps.metrics import STEP
from llm_fleet_node.watching import program as program_of
from llm_fleet_node.watching.program import SETTINGS, STATUS, UNIT, UNIT_PATH
from tests.lifecycle_scripts.convergence import again, assert_fails, converges
from tests.lifecycle_scripts.metrics.nodes import linux
from tests.lifecycle_scripts.metrics.service import Service, serve
from tests.lifecycle_scripts.step_node import file, make, program, said
from tools.synth_environment import ROOT

TO_CLOUDWATCH = Metrics("cloudwatch", "train", "LlmFleet/Nodes", "/llm-fleet/metrics/train", None, 60)
SYSTEMCTL = """
state = root + '/state/'
os.makedirs(state, exist_ok=True)
if a == ['daemon-reload']: sys.exit()
there = os.path.exists(f'{root}/etc/systemd/system/{a[-1]}')
if not there and a[0] != 'is-active': sys.exit(f'Unit {a[-1]} not found.')
active = f'{state}{a[-1]}.active'
if a[:2] == ['is-active', '--quiet']: sys.exit(0 if os.path.exists(active) else 3)
elif a[:2] == ['show', '--property=NeedDaemonReload'] and len(a) == 3: print('NeedDaemonReload=yes')
elif a[0] == 'start' and len(a) == 2: open(active, 'w')
elif a[0] == 'stop' and len(a) == 2: os.unlink(active)
else: bad()
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "_SECONDS", 0.1)


def fresh(root: Path, *, metrics: Metrics | None = TO_CLOUDWATCH, **identity: Any) -> Node:
    program(root, "systemctl", SYSTEMCTL)
    role = identity.pop("role", "Compute")
    node = make(root, role=role, metrics=metrics, content_hash="abc", region="us-west-2")
    reported: dict[str, Any] = {"instance_id": "i-1", "instance_type": "ml.m5.xlarge", **identity}
    return replace(
        node,
        identity=replace(node.identity, **reported),
        places=replace(node.places, bundle=ROOT / "lifecycle_scripts"),
    )


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return fresh(tmp_path)


def measured(node: Node, **reported: Any) -> None:
    """Write the status file that the program would write."""
    status: dict[str, Any] = {
        "settings": fingerprint(node.host.read(SETTINGS) or ""),
        "measured": int(time.time() * 1000),
        "values": 7,
        "absent": {"efa": "this node has no EFA interface"},
        "broken": [],
        "trouble": None,
        "published": 1,
        "waiting": 0,
    }
    file(node.host.root, STATUS, json.dumps({**status, **reported}))


def test_the_program_is_installed_and_started(node: Node) -> None:
    STEP.apply(node)
    measured(node)
    STEP.verify(node)
    settings = read_settings(node.host.path(SETTINGS))
    assert (settings.cluster, settings.group, settings.node, settings.ask_slurm) == ("train", "workers", "i-1", False)
    assert "metrics: 7 values; this node has no EFA interface" in said(node)
    assert node.host.path(f"/etc/systemd/system/multi-user.target.wants/{UNIT}").is_symlink()
    unit = node.host.read(UNIT_PATH) or ""
    assert "MemoryMax=512M" in unit
    assert "CPUQuota=20%" in unit
    # Threads count as tasks, and a Go program can start several for each of a node's 192 processors.
    assert int(unit.split("TasksMax=")[1].split()[0]) >= 512


def test_another_bundle_restarts_the_program(node: Node) -> None:
    STEP.apply(node)
    newer = again(replace(node, manifest=replace(node.manifest, content_hash="def")))
    STEP.apply(newer)
    assert newer.host.changes == [f"stopped {UNIT}", f"wrote {SETTINGS}", f"started {UNIT}"]
    measured(node, settings="of the older program")
    assert_fails(Code.METRICS_SERVICE, STEP.verify, newer)


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = program_of.files
    kept = ("/emf.py", "/names.py", SETTINGS, UNIT_PATH)

    def few(node: Node) -> dict[str, str]:
        return {path: text for path, text in whole(node).items() if path.endswith(kept)}

    monkeypatch.setattr(program_of, "files", few)

    def with_an_older_one(root: Path) -> Node:
        node = fresh(root)
        file(node.host.root, SETTINGS, "{}")
        file(node.host.root, UNIT_PATH, "[Service]\nExecStart=/old\n")
        file(node.host.root, f"/state/{UNIT}.active", "")
        return node

    # Stopped, four files, the link, started.
    assert converges(STEP, with_an_older_one, tmp_path, ignore=["/calls"], is_verified=False) == 7


def test_without_metrics_the_step_is_skipped_and_an_older_program_removed(node: Node) -> None:
    without = again(replace(node, manifest=replace(node.manifest, metrics=None)))
    assert STEP.skip(without) == "metrics are off in this fleet"
    STEP.apply(node)
    assert STEP.skip(without) is None
    STEP.apply(without)
    STEP.verify(without)
    assert not node.host.path(UNIT_PATH).exists()
    assert not node.host.path(f"/state/{UNIT}.active").exists()
    assert STEP.skip(without) == "metrics are off in this fleet"


@pytest.mark.parametrize(
    ("reported", "code", "words"),
    [
        (
            {"measured": 0},
            Code.METRICS_SERVICE,
            "no metric of llm-fleet-metrics.service in /run/llm-fleet-metrics/status.json",
        ),
        ({"values": 0}, Code.METRICS_SERVICE, "no metric of llm-fleet-metrics.service in"),
        ({"trouble": "logs returned 403"}, Code.METRICS_REJECTED, "logs returned 403"),
        ({"broken": ["gpu"], "absent": {"gpu": "lost"}}, Code.METRICS_SOURCE, "gpu: lost"),
    ],
)
def test_a_running_unit_is_not_enough(node: Node, reported: dict[str, Any], code: Code, words: str) -> None:
    STEP.apply(node)
    measured(node, **reported)
    assert_fails(code, STEP.verify, node, match=words)
    assert not STEP.is_for_jobs, "a node whose values are rejected still works"


def test_a_stopped_unit_and_a_changed_file_are_detected(node: Node) -> None:
    STEP.apply(node)
    measured(node)
    node.host.path(f"/state/{UNIT}.active").unlink()
    with pytest.raises(Failure, match="does not run"):
        STEP.verify(node)
    file(node.host.root, "/opt/llm-fleet/metrics/llm_fleet_node/metrics/emf.py", "")
    with pytest.raises(Failure, match=r"metrics/emf.py does not match this bundle"):
        STEP.verify(node)


@pytest.mark.parametrize(
    ("identity", "asks"),
    [
        ({"role": "Controller", "controllers": ()}, True),
        ({"role": "Controller", "controllers": ("10.1.0.12", "10.1.0.13")}, True),
        ({"role": "Controller", "controllers": ("10.1.0.13", "10.1.0.12")}, False),
        ({"role": "Login", "controllers": ("10.1.0.12",)}, False),
    ],
)
def test_one_controller_reports_the_queue(tmp_path: Path, identity: dict[str, Any], asks: bool) -> None:
    node = fresh(tmp_path, **identity)
    STEP.apply(node)
    assert read_settings(node.host.path(SETTINGS)).ask_slurm is asks


@pytest.fixture
def service() -> Iterator[Service]:
    yield from serve()


def test_the_installed_program_collects_and_publishes(node: Node, service: Service, tmp_path: Path) -> None:
    """The real installed program, with the node's Python and without llm-fleet on its import path."""
    STEP.apply(node)
    linux(tmp_path)
    folder = node.host.path(STATUS).parent
    folder.mkdir(parents=True)
    environment = {
        "LLM_FLEET_AWS": service.address,
        "LLM_FLEET_METADATA": service.address,
        "LLM_FLEET_ROOT": str(tmp_path),
    }
    command = [
        sys.executable,
        "-E",
        "-s",
        "-B",
        "-m",
        "llm_fleet_node.metrics",
        str(node.host.path(SETTINGS)),
        str(folder),
    ]
    place = node.host.path("/opt/llm-fleet/metrics")
    first = subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not service.events and time.monotonic() < deadline:
            time.sleep(0.05)
        STEP.verify(node)
        second = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert (second.returncode, second.stdout) == (3, "another instance is running on this node\n")
        first.terminate()
        assert first.wait(timeout=10) == 0, "it ends when systemd asks it to"
    finally:
        first.kill()
        first.communicate()
    assert service.lines()[0]["Node"] == "i-1"
    assert service.unsigned == []
