"""`llm-fleet jobs submit` and `logs`, from the command line to the cluster and back."""

import json
from pathlib import Path

import pytest

from llm_fleet.cli import session
from llm_fleet.cli.main import main
from llm_fleet.cli.session import Target
from tests.cli.jobs.cluster_by_session import FakeCluster

FLEET = """\
fleet: post
region: us-west-2
network: {{az: usw2-az4}}
storage:
  fsx: {{size: 4800 GiB, throughput: 250 MB/s/TiB}}
clusters:
  ml-cluster:
    kind: hyperpod
    training:
      environments: {{neuron: {{kind: container, image: "docker://example.org#image:1"}}}}
    users: {users}
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      trn1: {{role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}}
jobs:
  tanuki:
    model: weblab-GENIAC/Tanuki-8B-dpo-v1.0
    data: /fsx/data
"""
ADA = "{ada: {uid: 2001}}"
BOTH = "{ada: {uid: 2001}, grace: {uid: 2002}}"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS has told the controller."""

    def find(*_: object) -> Target:
        return Target(name="controller i-1", ssm="sagemaker-cluster:0123456789ab_controller-i-01", region="us-west-2")

    monkeypatch.setattr(session, "find_target", find)


def fleet(cluster: FakeCluster, users: str = "{}") -> str:
    path = cluster.folder / "fleet.yaml"
    path.write_text(FLEET.format(users=users))
    return str(path)


@pytest.mark.usefixtures("found")
def test_a_run_is_submitted_from_download_to_conversion(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]):
    assert main(["jobs", "submit", fleet(cluster), "--json"]) == 0, capsys.readouterr().err
    told = json.loads(capsys.readouterr().out)["jobs"]
    stages = ["download", "tokenize", "compile", "train", "convert"]
    assert [one["stage"] for one in told] == stages
    assert [job["text"].splitlines()[0] for job in cluster.jobs()] == ["#!/usr/bin/env bash"] * len(stages)
    assert "#SBATCH --nodes=4" in cluster.jobs()[3]["text"]
    run = Path(cluster.jobs()[3]["folder"], "run.sh").read_text()
    assert "MODEL=weblab-GENIAC/Tanuki-8B-dpo-v1.0" in run
    assert (cluster.folder / "users").read_text() == "#1000\n"


@pytest.mark.usefixtures("found")
def test_it_tells_how_to_follow(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]):
    path = fleet(cluster)
    assert main(["jobs", "submit", path, "tanuki", "--stage", "train"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"follow it: llm-fleet jobs logs {path} tanuki --stage train -f"
    log = told[0].split()[-1]
    (cluster.folder / log.removeprefix("/")).write_text("step 1\nstep 2\n")
    assert main(told[-1].split("llm-fleet ")[1].replace(" -f", " -n 1").split()) == 0
    assert capsys.readouterr().out == f"{cluster.folder}{log}\nstep 2\n"
    jobs = cluster.jobs()
    jobs[0]["state"] = "COMPLETED"
    (cluster.folder / "jobs.json").write_text(json.dumps(jobs))
    assert main(told[-1].split("llm-fleet ")[1].split()) == 0
    assert capsys.readouterr().out == "step 1\nstep 2\njob 100 has ended: COMPLETED|0:0\n"


@pytest.mark.usefixtures("found")
def test_a_stage_that_is_named_twice_is_submitted_once(cluster: FakeCluster):
    assert main(["jobs", "submit", fleet(cluster), "--stage", "train", "--stage", "train"]) == 0
    assert len(cluster.jobs()) == 1


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stage", "trian"], "write 'train'"),
        (["--job", "1; rm"], "'1; rm' is no job's id"),
        (["-n", "x"], "'x' is no number of lines"),
        (["-n", "0"], "'0' is no number of lines"),
    ],
)
def test_which_log_is_looked_at_before_anybody_is_asked(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], words: list[str], said: str
):
    assert main(["jobs", "logs", fleet(cluster), *words]) in (1, 2)
    assert said in capsys.readouterr().err
    assert cluster.sessions() == []


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(("users", "words", "user"), [(ADA, [], "ada"), (BOTH, ["--user", "grace"], "grace")])
def test_jobs_belong_to_a_user_of_the_cluster(cluster: FakeCluster, users: str, words: list[str], user: str):
    assert main(["jobs", "submit", fleet(cluster, users), "--stage", "train", *words]) == 0
    assert (cluster.folder / "users").read_text() == f"{user}\n"


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("users", "words", "said"),
    [
        (BOTH, [], "nobody told which of the cluster's users"),
        (ADA, ["--user", "adda"], "'ada'"),
        (ADA, ["--stage", "test-nccl"], "run 'tanuki' has no such stage"),
        (ADA, ["--set", "STEPS=3"], "the run in the fleet file tells this already"),
    ],
)
def test_what_cannot_be_submitted_is_told_before_anything_is(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], users: str, words: list[str], said: str
):
    assert main(["jobs", "submit", fleet(cluster, users), *words]) == 1
    assert said in capsys.readouterr().err
    assert cluster.sessions() == []
