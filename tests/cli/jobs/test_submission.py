"""Batch files get to the cluster whole, are submitted once, all or none, and what the cluster says is told."""

import json
from pathlib import Path
from random import Random

import pytest

from llm_fleet.cli.jobs.submission import Submission
from llm_fleet.cli.session.session import Session
from llm_fleet.cli.session.target import Target
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from tests.cli.jobs.cluster_by_session import FakeCluster

FILES = {
    "run.sh": "MODEL='it''s a \"model\" $(touch /tmp/never)'\n",
    "compile.sbatch": "#!/bin/bash\necho compile\n",
    "train.sbatch": "#!/bin/bash\necho train\n",
}


def submission(folder: Path, *, stages: tuple[str, ...] = ("compile", "train"), number: str = "1") -> Submission:
    return Submission(run="llama2-7b", run_folder=str(folder / "runs/llama2 7b"), files=FILES, stages=stages, id=number)


def refused(submitted: Submission, session: Session) -> FleetError:
    with pytest.raises(FleetError) as caught:
        submitted.send(session)
    return caught.value


def test_stages_are_submitted_as_the_user_each_after_the_last(cluster: FakeCluster, session: Session):
    done = submission(cluster.folder).send(session)
    assert [(job.stage, job.job_id) for job in done] == [("compile", "100"), ("train", "101")]
    assert done[1].log == f"{cluster.folder}/runs/llama2 7b/logs/llama2-7b-train-101.out"
    first, second = cluster.jobs()
    assert not [word for word in first["options"] if word.startswith("--dependency")]
    assert "--dependency=afterok:100" in second["options"]
    assert "--kill-on-invalid-dep=yes" in second["options"]
    assert (cluster.folder / "users").read_text() == "ada\n"


def test_files_arrive_as_they_are_in_a_folder_of_their_own(cluster: FakeCluster, session: Session):
    submission(cluster.folder, number="1").send(session)
    submission(cluster.folder, number="2").send(session)
    folders = [Path(str(job["folder"])) for job in cluster.jobs()]
    assert len(set(folders)) == 2
    for folder in folders:
        assert {path.name: path.read_text() for path in folder.iterdir()} == FILES
    assert (cluster.folder / "runs/llama2 7b/logs").is_dir()


def test_what_a_stage_is_refused_for_is_told_before_any_is_submitted(cluster: FakeCluster, session: Session):
    (cluster.folder / "refuse-train.sbatch").touch()
    error = refused(submission(cluster.folder), session)
    assert [problem.code for problem in error.problems] == [Code.JOBS_REFUSED]
    assert "Node count specification invalid" in str(error)
    assert cluster.jobs() == []


def test_a_stage_that_is_refused_late_takes_the_others_back(cluster: FakeCluster, session: Session):
    (cluster.folder / "refuse-late-train.sbatch").touch()
    error = refused(submission(cluster.folder), session)
    assert "QOS policy" in str(error)
    assert [job["state"] for job in cluster.jobs()] == ["CANCELLED"]


def test_a_session_that_is_cut_off_submits_nothing_twice(cluster: FakeCluster, session: Session):
    cluster.has_trouble({1: "cut after 2", 2: "An error occurred (ThrottlingException): Rate exceeded"})
    done = submission(cluster.folder).send(session)
    assert len(cluster.sessions()) == 3
    assert [job.job_id for job in done] == ["100", "101"]
    assert len(cluster.jobs()) == 2


def test_files_that_arrived_by_half_are_laid_anew(cluster: FakeCluster, session: Session):
    """The session breaks off while they are unpacked: what is there then is no folder to submit from."""
    tar = cluster.folder / "bin/tar"
    tar.write_text("#!/bin/bash\nrm $0\ntouch ${@: -1}/run.sh 2>/dev/null\nkill $PPID\n")
    tar.chmod(0o755)
    refused(submission(cluster.folder), session)
    submission(cluster.folder).send(session)
    assert {path.name: path.read_text() for path in Path(cluster.jobs()[0]["folder"]).iterdir()} == FILES


def test_a_session_that_fails_for_good_is_told_with_what_it_said(cluster: FakeCluster, session: Session):
    denied = "An error occurred (AccessDeniedException) when calling the StartSession operation: not you"
    cluster.has_trouble({1: denied})
    error = refused(submission(cluster.folder), session)
    assert [problem.code for problem in error.problems] == [Code.JOBS_SESSION]
    assert "not you" in str(error)
    assert len(cluster.sessions()) == 1, "what is denied is not tried again"


def test_too_much_for_a_session_is_told_before_it_is_started(cluster: FakeCluster, session: Session):
    noise = Random(1).randbytes(60_000).hex()
    large = Submission(run="large", run_folder="/fsx/runs/large", files={"run.sh": noise}, stages=("train",), id="1")
    assert [problem.code for problem in refused(large, session).problems] == [Code.JOBS_TOO_LARGE]
    assert cluster.sessions() == []


def test_a_machine_without_the_plugin_is_told(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch):
    (cluster.folder / "bin" / "session-manager-plugin").unlink()
    monkeypatch.setenv("PATH", str(cluster.folder / "bin"))
    with pytest.raises(FleetError, match="session-manager-plugin") as caught:
        Session(Target(name="head node i-1", ssm="i-1", region="us-west-2"), user="ubuntu")
    assert [problem.code for problem in caught.value.problems] == [Code.JOBS_PROGRAM]


def test_nothing_of_the_submission_is_read_by_a_shell_on_the_way(cluster: FakeCluster, session: Session):
    hostile = Submission(
        run="r'; touch never; '",
        run_folder=str(cluster.folder / "$(touch never)"),
        files=FILES,
        stages=("train",),
        id="1",
    )
    hostile.send(session)
    assert not list(cluster.folder.rglob("never"))
    assert json.dumps(cluster.jobs()[0]["options"]).count("touch never") == 2
