"""`upgrade` and `bundle` ask Slurm by Session Manager, which programs on PATH play, and tell where that fails."""

import json
import tarfile
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from tests.cli.canned_account import CannedAccount
from tests.cli.connect.session_programs import SessionPrograms
from tests.cli.day_two.conftest import hyperpod_account
from tests.cli.nodes.made_nodes import hyperpod_answers
from tools.synth_environment import ROOT

FILE = ("-f", str(ROOT / "examples" / "hyperpod-trn1.yaml"))
JOB = "7 RUNNING compute ada 4 12:00 train"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPrograms:
    """The launch post's cluster with a controller that runs, reached by these programs."""
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


def test_upgrade_tells_the_jobs_that_run_now(programs: SessionPrograms, capsys: pytest.CaptureFixture[str]) -> None:
    programs.slurm_says([], [JOB])
    code = main(["upgrade", *FILE])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert f"jobs now\n  {JOB}" in out
    assert "not asked" not in out
    assert programs.option("--target") == "sagemaker-cluster:0123456789ab_controller-group-i-00000000000000000"
    assert "Slurm keeps its state on the root volume [assumption: hyperpod-slurm-state-on-root-volume]" in out


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("An error occurred (AccessDeniedException) when calling StartSession", "AccessDeniedException"),
        ("EOF", "Cannot perform start session: EOF"),
    ],
)
def test_upgrade_tells_why_nobody_could_be_asked(
    programs: SessionPrograms, capsys: pytest.CaptureFixture[str], says: str, why: str
) -> None:
    programs.says(says)
    code = main(["upgrade", *FILE, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["jobs"]) == (3, None)
    assert why in told["not_asked"]
    assert any(
        "squeue --noheader --states=RUNNING,PENDING" in line and "not asked: " in line for line in told["before"]
    )


def test_upgrade_tells_what_slurm_says_when_it_is_down(
    programs: SessionPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    (programs.folder / "slurm-fails").touch()
    code = main(["upgrade", *FILE])
    assert (code, "Unable to contact slurm controller" in capsys.readouterr().out) == (3, True)


def test_bundle_has_what_slurm_says(programs: SessionPrograms, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_bundle_goes_without_slurm_where_the_session_fails(
    programs: SessionPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.says("An error occurred (AccessDeniedException) when calling StartSession")
    code = main(["bundle", *FILE, "-o", "out.tar.gz", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, [one["name"] for one in told["missing"]]) == (3, ["slurm.txt"])
    assert "cluster.json" in told["files"]
