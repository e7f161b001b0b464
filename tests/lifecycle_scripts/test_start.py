"""The entry points as processes: real scripts, real Python, and a root of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.rules.terms import LifecycleHook
from llm_fleet_node.failures import Code
from tests.lifecycle_scripts.throwaway_node import Ended, Node

WORKER: dict[str, Any] = {
    "ClusterConfig": {"ClusterName": "train", "SlurmConfig": {"PrimaryControllerIp": "10.1.0.5"}},
    "InstanceGroups": [
        {
            "Name": "trn",
            "Instances": [{"InstanceName": "trn-1", "InstanceId": "i-1", "CustomerIpAddress": "10.1.0.77"}],
        }
    ],
}


def test_an_identified_node_succeeds(node: Node) -> None:
    node.has("resource_config.json", WORKER)
    ended = node.run()
    assert (ended.code, ended.err) == (0, "")
    assert ended.report["code"] == "OK"
    assert ended.report["hook"] == "OnInitComplete"
    assert ended.report["node"]["group"] == "trn"
    assert ended.report["node"]["role"] == "Compute"
    assert ended.report["node"]["partition"] == "trn1"
    assert ended.report["node"]["instance_id"] == "i-1"
    assert ended.report["node"]["addresses"] == ["10.1.0.12", "10.1.0.77"]
    assert (
        ended.report["bundle"]["content_hash"] == json.loads((node.bundle / "fleet.json").read_text())["content_hash"]
    )
    assert "node: Compute of group trn" in ended.out
    assert "node: Compute of group trn" in (node.logs / "llm-fleet.log").read_text()


def test_a_second_run_has_the_same_result_and_keeps_both_logs(node: Node) -> None:
    node.has("resource_config.json", WORKER)
    assert [node.run().code, node.run().code] == [0, 0]
    assert (node.logs / "llm-fleet.log").read_text().count("node: Compute") == 2


def test_no_file_is_written_into_the_bundle(node: Node) -> None:
    node.has("resource_config.json", WORKER)
    before = sorted(node.bundle.rglob("*"))
    node.run()
    assert sorted(node.bundle.rglob("*")) == before
    assert sorted(path.name for path in node.logs.iterdir()) == ["llm-fleet.log", "report.json"]


def test_the_path_of_the_resource_file_can_be_set(node: Node, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(WORKER))
    assert node.run(SAGEMAKER_RESOURCE_CONFIG_PATH=str(elsewhere)).report["node"]["group"] == "trn"


@pytest.mark.parametrize("hook", list(LifecycleHook))
def test_a_role_without_steps_fails(node: Node, hook: LifecycleHook) -> None:
    node.publish(hook, step_files={})
    node.has("resource_config.json", WORKER)
    ended = node.run("on_create.sh" if hook is LifecycleHook.ON_CREATE else "on_init_complete.sh")
    _refused(ended, "LFN21", f"the role Compute has no steps in {hook.value}")
    assert ended.report["node"]["group"] == "trn"


@pytest.mark.parametrize("script", ["on_create.sh", "on_init_complete.sh"])
def test_another_hook_than_the_groups_is_rejected(node: Node, script: str) -> None:
    node.publish(LifecycleHook.ON_CREATE if script == "on_init_complete.sh" else LifecycleHook.ON_INIT_COMPLETE)
    node.has("resource_config.json", WORKER)
    _refused(node.run(script), "LFN20", "group trn was started with")


@pytest.mark.parametrize(
    ("place", "script"), [("", "on_init_complete.sh"), ("..", "bundle/on_init_complete.sh"), ("", "./enter.sh")]
)
def test_it_can_be_started_from_any_folder(worker: Node, place: str, script: str) -> None:
    hook = ["OnInitComplete"] if script.endswith("enter.sh") else []
    ended = subprocess.run(
        ["bash", script, *hook], cwd=worker.bundle / place, env=os.environ | worker.environment(), capture_output=True
    )
    assert ended.returncode == 0, ended.stderr


def test_no_python_is_reported_with_a_code_and_a_report(node: Node) -> None:
    ended = node.run(LLM_FLEET_PYTHON="/nowhere/python3")
    _refused(ended, "LFN01", "no Python between 3.9 and 3.13")
    assert ended.report["hook"] == "OnInitComplete"


def test_a_too_old_python_is_skipped(node: Node, tmp_path: Path) -> None:
    for name, code in (("python3", "exit 1"), ("python3.12", f'exec {sys.executable} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/bash\n{code}\n")
        (tmp_path / name).chmod(0o755)
    node.has("resource_config.json", WORKER)
    ended = node.run(LLM_FLEET_PYTHON="", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert ended.code == 0, ended.err


def test_parallelclusters_own_python_is_the_last_choice(node: Node, tmp_path: Path) -> None:
    """On EL8 `python3` is 3.6, and ParallelCluster installs no other on PATH.

    Source: document aws-parallelcluster-cookbook f75d84c, install_packages_redhat8.rb (2024-10).
    """
    old = tmp_path / "bin"
    old.mkdir()
    for name in ("bash", "sync", "mkdir", "mv", "cat", "sha256sum"):
        (old / name).symlink_to(shutil.which(name) or "")
    for name in ("python3", *(f"python3.{minor}" for minor in range(9, 14))):
        (old / name).write_text("#!/bin/bash\necho Python 3.6.8\n")
        (old / name).chmod(0o755)
    node.has("resource_config.json", WORKER)
    assert "LFN01" in node.run(LLM_FLEET_PYTHON="", PATH=str(old)).err
    own = node.root / "opt/parallelcluster/pyenv/versions/3.9.20/envs/cookbook_virtualenv/bin/python"
    own.parent.mkdir(parents=True)
    own.symlink_to(sys.executable)
    ended = node.run(LLM_FLEET_PYTHON="", PATH=str(old))
    assert ended.code == 0, ended.err


def test_a_log_folder_that_cannot_be_made_is_reported(node: Node, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ended = node.run(LLM_FLEET_LOG_DIR=str(tmp_path / "file"))
    assert ended.code == 1
    assert "LFN30" in ended.err


def test_the_package_requires_a_hook(node: Node) -> None:
    ended = subprocess.run(
        [sys.executable, "-B", "-m", "llm_fleet_node"],
        cwd=node.bundle,
        env={"LLM_FLEET_ROOT": str(node.root)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "LFN08" in ended.stderr


@pytest.mark.parametrize(
    ("changed", "code", "cause"),
    [
        ({"schema_version": 2}, "LFN04", "schema version 2, but these scripts support 1"),
        ({"steps": []}, "LFN03", "steps is [], not of type object"),
        ({"stages": []}, "LFN03", "stages is not known"),
        ({"groups": []}, "LFN03", "groups has 0 items"),
        ({"scripts_sha256": "0" * 64}, "LFN07", "has 000"),
    ],
)
def test_an_invalid_manifest(node: Node, changed: dict[str, Any], code: str, cause: str) -> None:
    node.publish(**changed)
    node.has("resource_config.json", WORKER)
    _refused(node.run(), code, cause)


def test_an_unknown_role(node: Node) -> None:
    groups = json.loads((node.bundle / "fleet.json").read_text())["groups"]
    groups[0]["role"] = "Accountant"
    node.publish(groups=groups)
    _refused(node.run(), "LFN05", "groups[0].role is 'Accountant'")


def test_a_bundle_without_manifest(node: Node) -> None:
    (node.bundle / "fleet.json").unlink()
    _refused(node.run(), "LFN02", "No such file")


@pytest.mark.parametrize("text", ["{", '"', "", "\x00"])
def test_a_manifest_that_is_not_json(node: Node, text: str) -> None:
    (node.bundle / "fleet.json").write_text(text)
    _refused(node.run(), "LFN03", "is not valid JSON")


def test_a_changed_script_is_rejected(node: Node) -> None:
    with (node.bundle / "llm_fleet_node" / "places.py").open("a") as file:
        file.write("# changed\n")
    _refused(node.run(), "LFN06", "llm_fleet_node/places.py has the digest ")


@pytest.mark.parametrize("place", ["steps/stranger.py", "stranger.py", "new/stranger.py"])
def test_unpublished_code_is_rejected(node: Node, place: str) -> None:
    path = node.bundle / "llm_fleet_node" / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("open('/proof', 'w')")
    _refused(node.run(), "LFN06", f"llm_fleet_node/{place} in {node.bundle} is not a published file")


@pytest.mark.parametrize("name", ["llm_fleet_node/graph.py", "README.md"])
def test_windows_line_endings_are_rejected(node: Node, name: str) -> None:
    path = node.bundle / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    _refused(node.run(), "LFN06", f"{name} has the digest ")


@pytest.mark.parametrize("name", ["on_init_complete.sh", "enter.sh"])
def test_an_entry_point_with_windows_line_endings_fails(node: Node, name: str) -> None:
    path = node.bundle / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert node.run().code != 0


def test_a_missing_file_in_the_bundle_is_rejected(node: Node) -> None:
    (node.bundle / "README.md").unlink()
    _refused(node.run(), "LFN06", "README.md cannot be read")


@pytest.mark.parametrize("sums", ["", "nonsense\n", f"{'0' * 64}  ../../etc/passwd\n"])
def test_an_invalid_checksum_list(node: Node, sums: str) -> None:
    (node.bundle / "SHA256SUMS").write_text(sums)
    _refused(node.run(), "LFN07", "")


def test_an_unexpected_error_is_a_failure_with_its_traceback_in_the_log(node: Node) -> None:
    (node.bundle / "fleet.schema.json").write_text("[]")
    ended = node.run()
    _refused(ended, "LFN99", "")
    assert "Traceback" in (node.logs / "llm-fleet.log").read_text()


def test_every_code_is_used_once_and_has_a_remedy() -> None:
    assert len({code.code for code in Code}) == len(Code)
    assert all(code.code.startswith("LFN") and len(code.remedy) > 20 for code in Code)


def _refused(ended: Ended, code: str, cause: str) -> None:
    """Assert the same failure on standard error, in the report and in the exit code."""
    assert ended.code == 1
    assert ended.report["code"] == code, ended.err
    assert cause in ended.report["cause"]
    assert ended.report["remedy"]
    assert f"{code}  " in ended.err
    assert "remedy: " in ended.err
