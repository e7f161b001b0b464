"""Output of commands without permissions, nodes, resources or Slurm."""

import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.cli.canned_account import CannedAccount
from tests.cli.connect.session_programs import SessionPrograms
from tests.cli.day_two.conftest import WHERE, Say, hyperpod_account, line, stream
from tests.cli.nodes.made_nodes import hyperpod_answers
from tools.synth_environment import ROOT

WELL = ("    0.18  OnInitComplete: fleet demo, cluster ml", "    5.32  OnInitComplete: OK after 5.32 s")


@pytest.mark.parametrize("denied", ["ListClusterNodes", "DescribeLogStreams", "FilterLogEvents"])
def test_logs_reports_what_is_not_denied(say: Say, hyperpod: CannedAccount, denied: str) -> None:
    lines = [line(number, text) for number, text in enumerate(WELL)]
    hyperpod.says(FilterLogEvents={"events": lines}, GetLogEvents=stream(*WELL))
    before = say("logs", "ml-cluster")
    assert before[0] == 0, before
    hyperpod.refuses(denied)
    code, out, _ = say("logs", "ml-cluster", "--json")
    reported = json.loads(out)
    assert code == 3
    assert (reported["problems"][0]["code"], denied in reported["problems"][0]["message"]) == ("LF1004", True)
    if denied == "ListClusterNodes":
        assert [(run["code"], run["lives"]) for run in reported["runs"]] == [("OK", True)]


def test_the_exit_code_of_a_failed_start_has_precedence_over_a_denied_call(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("ListClusterNodes")
    code, out, err = say("logs", "ml-cluster")
    assert (code, "LFN31" in out, "ListClusterNodes" in err) == (1, True, True)


def test_without_describe_cluster_the_newest_log_is_read(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster")
    code, _, err = say("logs", "ml-cluster")
    assert (code, "LF1004" in err) == (3, True)
    group = {"logGroupName": "/aws/sagemaker/Clusters/ml-cluster/0123456789ab", "creationTime": 1}
    hyperpod.says(DescribeLogGroups={"logGroups": [group]})
    code, out, err = say("logs", "ml-cluster")
    assert (code, "LFN31" in out, "the cluster was deleted" in err) == (1, True, False)


@pytest.mark.parametrize("denied", ["ListClusterEvents", "ListClusterOperations"])
def test_events_reports_what_is_not_denied(say: Say, hyperpod: CannedAccount, denied: str) -> None:
    hyperpod.refuses(denied)
    code, out, err = say("events", "ml-cluster")
    assert (code, denied in err, "InService" in out) == (3, True, True)


def test_a_cluster_without_continuous_provisioning_has_no_events(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses(
        "ListClusterEvents", code="ValidationException", message="only for NodeProvisioningMode Continuous"
    )
    code, out, err = say("events", "ml-cluster")
    assert (code, "no events" in out) == (0, True)
    assert "HyperPod stores events only for clusters with continuous provisioning" in err


def test_nodes_without_a_logical_id_are_reported(say: Say, hyperpod: CannedAccount) -> None:
    group = {"InstanceGroupName": "controller", "CurrentCount": 1, "TargetCount": 1}
    described = hyperpod.clients_answer("DescribeCluster") | {"InstanceGroups": [group]}
    described.pop("NodeProvisioningMode")
    hyperpod.says(DescribeCluster=described)
    code, out, _ = say("logs", "ml-cluster", "--json")
    assert (code, json.loads(out)["runs"][0]["code"]) == (1, "LFN31")
    assert "IncludeNodeLogicalIds" not in dict(hyperpod.requested)["ListClusterNodes"]


def test_upgrade_without_describe_cluster_reports_the_denied_call(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster")
    code, out, err = say("upgrade", "ml-cluster", "--no-session")
    assert (code, out, "DescribeCluster" in err) == (3, "", True)


def test_upgrade_without_the_file_reports_that_slurm_was_not_queried(say: Say, hyperpod: CannedAccount) -> None:
    code, out, _ = say("upgrade", "ml-cluster")
    assert (code, "not queried: a fleet file (-f FILE) is required: it names the node that runs squeue" in out) == (
        3,
        True,
    )
    code, out, _ = say("upgrade", "ml-cluster", "--no-session", "--json")
    assert (code, json.loads(out)["not_checked"]) == (0, None)


@pytest.mark.parametrize("words", [("logs",), ("events",), ("upgrade", "--no-session"), ("bundle", "--no-session")])
def test_a_closed_pipe_ends_the_command_silently(
    hyperpod: CannedAccount,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: Any,
) -> None:
    """As with `| head -1`, after the first line."""
    monkeypatch.chdir(tmp_path)
    read, write = os.pipe()
    os.close(read)
    with monkeypatch.context() as here, os.fdopen(write, "w", buffering=1) as output:
        here.setattr(sys, "stdout", output)
        code = main([words[0], "ml-cluster", *words[1:], *WHERE])
    assert (code, "Traceback" in capfd.readouterr().err) == (0, False)
    assert len(list(tmp_path.glob("*.tar.gz"))) == (words[0] == "bundle")


def files_of(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as tar:
        members = {member.name.partition("/")[2]: tar.extractfile(member) for member in tar.getmembers()}
        return {name: json.loads(file.read()) for name, file in members.items() if file and name.endswith(".json")}


def test_bundle_of_hyperpod_names_each_call_that_was_denied(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("ListClusterNodes", "ListClusterEvents", "FilterLogEvents")
    code, _, err = say("bundle", "ml-cluster", "--no-session", "-o", "out.tar.gz")
    files = files_of(Path("out.tar.gz"))
    assert (code, "nodes.json is left out" in err) == (3, True)
    missing = [(one["name"], one["why"].rpartition("x:")[2]) for one in files["manifest.json"]["missing"]]
    assert missing == [
        ("events.json, in part", "ListClusterEvents"),
        ("nodes.json", "ListClusterNodes"),
        ("starts.json, in part", "ListClusterNodes"),
        ("starts.json, in part", "FilterLogEvents"),
    ]
    assert files["cluster.json"]["ClusterName"] == "ml-cluster"


ID = "i-00000000000000000"


@pytest.mark.parametrize("requested", ["controller-1", "controller", ID])
def test_logs_accepts_any_name_of_a_node(say: Say, hyperpod: CannedAccount, requested: str) -> None:
    code, out, err = say("logs", "ml-cluster", "--kind", "hyperpod", "--node", requested)
    assert (code, "LFN31" in out) == (1, True), err


@pytest.mark.parametrize("requested", ["controller-1", ID])
def test_events_accepts_any_name_of_a_node(say: Say, hyperpod: CannedAccount, requested: str) -> None:
    code, _, err = say("events", "ml-cluster", "--kind", "hyperpod", "--node", requested)
    assert code == 0, err
    assert [request.get("NodeId") for name, request in hyperpod.requested if name == "ListClusterEvents"] == [ID]


def test_a_deleted_node_is_found_by_its_id(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.says(ListClusterNodes={"ClusterNodeSummaries": []})
    code, out, err = say("logs", "ml-cluster", "--kind", "hyperpod", "--node", ID)
    assert (code, "LFN31" in out) == (1, True), err


@pytest.mark.parametrize("verb", ["logs", "events"])
def test_an_unknown_node_is_reported_with_the_known_ones(say: Say, hyperpod: CannedAccount, verb: str) -> None:
    code, _, err = say(verb, "ml-cluster", "--kind", "hyperpod", "--node", "controller-9")
    assert (code, "LF1101" in err or "LF1102" in err, "controller-1" in err) == (1, True, True), err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_empty_bundle_is_not_written(say: Say, hyperpod: CannedAccount, options: tuple[str, ...]) -> None:
    hyperpod.refuses("DescribeCluster", "ListClusterNodes", code="ResourceNotFound", message="does not exist")
    hyperpod.says(DescribeLogGroups={"logGroups": []})
    code, _, err = say("bundle", "nosuch", "--kind", "hyperpod", "--no-session", *options)
    assert (code, "LF1008" in err, list(Path().glob("*.tar.gz"))) == (1, True, []), err


def test_a_bundle_is_written_despite_denied_calls(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.refuses("DescribeCluster", "ListClusterNodes", "DescribeLogGroups")
    assert say("bundle", "ml", "--kind", "hyperpod", "--no-session")[0] == 3
    assert len(list(Path().glob("*.tar.gz"))) == 1


FILE = ("-f", str(ROOT / "examples" / "hyperpod-trn1.yaml"))
JOB = "7 RUNNING compute ada 4 12:00 train"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPrograms:
    """Fake programs for sessions with the running controller of the launch post's cluster."""
    group = {"InstanceGroupName": "controller-group", "CurrentCount": 1, "TargetCount": 1}
    node = hyperpod_answers(0)["ListClusterNodes"]({"MaxResults": 1})["ClusterNodeSummaries"][0]
    answers = hyperpod_account()
    described = answers["DescribeCluster"]({}) | {"InstanceGroups": [group]}
    answers |= {
        "DescribeCluster": described,
        "ListClusterNodes": {"ClusterNodeSummaries": [node | {"InstanceGroupName": "controller-group"}]},
        "DescribeStackEvents": {"StackEvents": []},
        "DescribeStacks": {
            "Stacks": [{"StackName": "x", "CreationTime": node["LaunchTime"], "StackStatus": "CREATE_COMPLETE"}]
        },
        "DescribeStackResources": {"StackResources": []},
    }
    CannedAccount(answers).lives(monkeypatch)
    made = SessionPrograms.make(tmp_path / "node")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("llm_fleet.cli.session._PAUSES", (0.0,))
    monkeypatch.chdir(tmp_path)
    return made


def test_upgrade_reports_the_jobs_that_run_now(programs: SessionPrograms, capsys: pytest.CaptureFixture[str]) -> None:
    programs.slurm_says([], [JOB])
    code = main(["upgrade", *FILE])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert f"running jobs\n  {JOB}" in out
    assert "not queried" not in out
    assert programs.option("--target") == "sagemaker-cluster:0123456789ab_controller-group-i-00000000000000000"
    assert "Slurm keeps its state on the root volume [assumption: hyperpod-slurm-state-on-root-volume]" in out


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("An error occurred (AccessDeniedException) when calling StartSession", "AccessDeniedException"),
        ("EOF", "Cannot perform start session: EOF"),
    ],
)
def test_upgrade_reports_why_slurm_could_not_be_queried(
    programs: SessionPrograms, capsys: pytest.CaptureFixture[str], says: str, why: str
) -> None:
    programs.says(says)
    code = main(["upgrade", *FILE, "--json"])
    reported = json.loads(capsys.readouterr().out)
    assert (code, reported["jobs"]) == (3, None)
    assert why in reported["not_checked"]
    assert any(
        "squeue --noheader --states=RUNNING,PENDING" in line and "not queried: " in line for line in reported["before"]
    )


def test_upgrade_reports_the_error_of_slurm(programs: SessionPrograms, capsys: pytest.CaptureFixture[str]) -> None:
    (programs.folder / "slurm-fails").touch()
    code = main(["upgrade", *FILE])
    assert (code, "Unable to contact slurm controller" in capsys.readouterr().out) == (3, True)


def test_bundle_has_the_output_of_slurm(programs: SessionPrograms, capsys: pytest.CaptureFixture[str]) -> None:
    programs.slurm_says(["ip-10-1-0-1 idle", "Reason=password=oh-no-1234"], [JOB])
    code = main(["bundle", *FILE, "-o", "out.tar.gz"])
    assert code == 0, capsys.readouterr()
    with tarfile.open("out.tar.gz") as tar:
        file = tar.extractfile("out/slurm.txt")
        assert file is not None
        said = file.read().decode()
    assert "== sinfo -N -l\nip-10-1-0-1 idle" in said
    assert f"== squeue -l\n{JOB}" in said
    assert "oh-no-1234" not in said


def test_bundle_is_written_without_slurm_if_the_session_fails(
    programs: SessionPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.says("An error occurred (AccessDeniedException) when calling StartSession")
    code = main(["bundle", *FILE, "-o", "out.tar.gz", "--json"])
    reported = json.loads(capsys.readouterr().out)
    assert (code, [one["name"] for one in reported["missing"]]) == (3, ["slurm.txt"])
    assert "cluster.json" in reported["files"]
