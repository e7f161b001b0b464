"""`cluster-shell`, with stand-ins of AWS's programs that answer like AWS and record the requests."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tools.synth_environment import ROOT

SCRIPT = ROOT / "lifecycle_scripts/workbench/cluster_shell.py"
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"
GROUPS = [
    {"InstanceGroupName": "controller-group", "SlurmConfig": {"NodeType": "Controller"}},
    {"InstanceGroupName": "workers", "SlurmConfig": {"NodeType": "Compute"}},
]
CLUSTER = {"ClusterArn": ARN, "InstanceGroups": GROUPS}
AWS = """#!{python}
import json, sys
words = sys.argv[1:]
if words[:2] == ["ssm", "start-session"]:
    print("session", *words[2:])
    sys.exit(0)
answer = json.load(open("{answers}"))[" ".join(words[:2])]
if isinstance(answer, str):
    sys.exit(answer)
print(json.dumps(answer))
"""


def node(group: str, instance: str, status: str = "Running") -> dict[str, Any]:
    return {"InstanceGroupName": group, "InstanceId": instance, "InstanceStatus": {"Status": status}}


def shell(folder: Path, answers: Mapping[str, Any], *words: str, plugin: bool = True) -> str:
    """Run it; return its output, or the session command."""
    programs, reported = folder / "bin", folder / "answers.json"
    programs.mkdir()
    reported.write_text(json.dumps(answers))
    made = {"aws": AWS.format(python=sys.executable, answers=reported)} | (
        {"session-manager-plugin": "#!/bin/sh\n"} if plugin else {}
    )
    for name, text in made.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": str(programs)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, env=environment, check=False
    )
    return done.stdout + done.stderr


NODES = [node("workers", "i-3"), node("controller-group", "i-1", "Failed"), node("controller-group", "i-2")]


@pytest.mark.parametrize(
    ("words", "target"),
    [(["train"], "controller-group-i-2"), (["train", "workers"], "workers-i-3")],
    ids=["controller", "a group by its name"],
)
def test_a_session_opens_on_a_running_node_of_hyperpod(tmp_path: Path, words: list[str], target: str):
    answers = {"sagemaker describe-cluster": CLUSTER, "sagemaker list-cluster-nodes": {"ClusterNodeSummaries": NODES}}
    assert shell(tmp_path, answers, *words) == f"session --target sagemaker-cluster:abcdefghijkl_{target}\n"


def test_a_login_node_is_preferred_to_the_controller(tmp_path: Path):
    login = {"InstanceGroupName": "entry", "SlurmConfig": {"NodeType": "Login"}}
    nodes = [*NODES, node("entry", "i-9")]
    answers = {
        "sagemaker describe-cluster": CLUSTER | {"InstanceGroups": [*GROUPS, login]},
        "sagemaker list-cluster-nodes": {"ClusterNodeSummaries": nodes},
    }
    assert "_entry-i-9" in shell(tmp_path, answers, "train")


@pytest.mark.parametrize("no", ["ResourceNotFound: no cluster train", "AccessDeniedException: not authorized"])
def test_a_cluster_missing_in_hyperpod_is_searched_among_head_nodes(tmp_path: Path, no: str):
    heads = [{"InstanceId": "i-old", "LaunchTime": "2026-01-01"}, {"InstanceId": "i-new", "LaunchTime": "2026-02-01"}]
    answers = {
        "sagemaker describe-cluster": no,
        "ec2 describe-instances": {"Reservations": [{"Instances": [head]} for head in heads]},
    }
    assert shell(tmp_path, answers, "train") == "session --target i-new\n"


def test_missing_clusters_and_nodes_are_reported(tmp_path: Path):
    answers: dict[str, Any] = {
        "sagemaker describe-cluster": "ResourceNotFound",
        "ec2 describe-instances": {"Reservations": []},
    }
    assert "no HyperPod cluster and no head node of train" in shell(tmp_path, answers, "train")


def test_other_failures_are_passed_on(tmp_path: Path):
    assert "ExpiredToken" in shell(tmp_path, {"sagemaker describe-cluster": "ExpiredToken: again"}, "train")


def test_an_unknown_group_is_reported_with_the_existing_ones(tmp_path: Path):
    said = shell(tmp_path, {"sagemaker describe-cluster": CLUSTER}, "train", "work")
    assert "cluster-shell train controller-group|workers" in said


def test_a_missing_plugin_is_reported_with_its_installation(tmp_path: Path):
    said = shell(tmp_path, {}, "train", plugin=False)
    assert "session-manager-plugin.rpm" in said  # this PATH has no dpkg
    assert "session --target" not in said
