"""Jobs that are sent to the cluster, and their logs."""

import json
import os
from pathlib import Path
from random import Random

import pytest

from llm_fleet.cli.jobs.submission import JobLog, Submission
from llm_fleet.cli.session import Session, Target
from llm_fleet.rules.codes import Code
from tests.cli.jobs.conftest import FakeCluster
from tests.cli.refused import code_of, refused

FILES = {
    "run.sh": "MODEL='it''s a \"model\" $(touch /tmp/never)'\n",
    "compile.sbatch": "#!/bin/bash\necho compile\n",
    "train.sbatch": "#!/bin/bash\necho train\n",
}


def submission(folder: Path, *, stages: tuple[str, ...] = ("compile", "train"), number: str = "1") -> Submission:
    return Submission(run="llama2-7b", run_folder=str(folder / "runs/llama2 7b"), files=FILES, stages=stages, id=number)


def test_stages_are_submitted_as_the_user_each_after_the_one_before(cluster: FakeCluster, session: Session):
    done = submission(cluster.folder).send(session)
    assert [(job.stage, job.job_id) for job in done] == [("compile", "100"), ("train", "101")]
    assert done[1].log == f"{cluster.folder}/runs/llama2 7b/logs/llama2-7b-train-101.out"
    first, second = cluster.jobs()
    assert not [word for word in first["options"] if word.startswith("--dependency")]
    assert "--dependency=afterok:100" in second["options"]
    assert "--kill-on-invalid-dep=yes" in second["options"]
    assert (cluster.folder / "users").read_text() == "ada\n"


def test_files_arrive_unchanged_in_a_separate_directory(cluster: FakeCluster, session: Session):
    submission(cluster.folder, number="1").send(session)
    submission(cluster.folder, number="2").send(session)
    folders = [Path(str(job["folder"])) for job in cluster.jobs()]
    assert len(set(folders)) == 2
    for folder in folders:
        assert {path.name: path.read_text() for path in folder.iterdir()} == FILES
    assert (cluster.folder / "runs/llama2 7b/logs").is_dir()


def test_a_rejected_stage_is_reported_before_any_is_submitted(cluster: FakeCluster, session: Session):
    (cluster.folder / "refuse-train.sbatch").touch()
    error = refused(lambda: submission(cluster.folder).send(session))
    assert [problem.code for problem in error.problems] == [Code.JOBS_REFUSED]
    assert "Node count specification invalid" in str(error)
    assert cluster.jobs() == []


def test_a_stage_that_is_rejected_later_cancels_the_others(cluster: FakeCluster, session: Session):
    (cluster.folder / "refuse-late-train.sbatch").touch()
    error = refused(lambda: submission(cluster.folder).send(session))
    assert "QOS policy" in str(error)
    assert [job["state"] for job in cluster.jobs()] == ["CANCELLED"]


def test_a_session_that_is_cut_off_submits_nothing_twice(cluster: FakeCluster, session: Session):
    cluster.has_trouble({1: "cut after 2", 2: "An error occurred (ThrottlingException): Rate exceeded"})
    done = submission(cluster.folder).send(session)
    assert len(cluster.sessions()) == 3
    assert [job.job_id for job in done] == ["100", "101"]
    assert len(cluster.jobs()) == 2


def test_partly_unpacked_files_are_unpacked_again(cluster: FakeCluster, session: Session):
    """The session is cut off while the files are unpacked: the incomplete directory is not used."""
    tar = cluster.folder / "bin/tar"
    tar.write_text("#!/bin/bash\nrm $0\ntouch ${@: -1}/run.sh 2>/dev/null\nkill $PPID\n")
    tar.chmod(0o755)
    refused(lambda: submission(cluster.folder).send(session))
    submission(cluster.folder).send(session)
    assert {path.name: path.read_text() for path in Path(cluster.jobs()[0]["folder"]).iterdir()} == FILES


def test_a_session_that_fails_permanently_is_reported_with_its_output(cluster: FakeCluster, session: Session):
    denied = "An error occurred (AccessDeniedException) when calling the StartSession operation: not you"
    cluster.has_trouble({1: denied})
    error = refused(lambda: submission(cluster.folder).send(session))
    assert [problem.code for problem in error.problems] == [Code.JOBS_SESSION]
    assert "not you" in str(error)
    assert len(cluster.sessions()) == 1, "a denied call is not retried"


def test_files_that_are_too_large_for_a_session_are_reported_before_it_starts(cluster: FakeCluster, session: Session):
    noise = Random(1).randbytes(60_000).hex()
    large = Submission(run="large", run_folder="/fsx/runs/large", files={"run.sh": noise}, stages=("train",), id="1")
    assert [problem.code for problem in refused(lambda: large.send(session)).problems] == [Code.JOBS_TOO_LARGE]
    assert cluster.sessions() == []


def test_a_machine_without_the_plugin_is_reported(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch):
    (cluster.folder / "bin" / "session-manager-plugin").unlink()
    monkeypatch.setenv("PATH", str(cluster.folder / "bin"))
    target = Target(name="head node i-1", ssm="i-1", region="us-west-2")
    assert code_of(lambda: Session(target, user="ubuntu"), match="session-manager-plugin") is Code.JOBS_PROGRAM


def test_no_other_shell_interprets_the_submission(cluster: FakeCluster, session: Session):
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


@pytest.fixture
def logs(cluster: FakeCluster) -> Path:
    folder = cluster.folder / "run" / "logs"
    folder.mkdir(parents=True)
    (folder / "llama-train-7.out").write_text("".join(f"step {number}\n" for number in range(1, 21)))
    return folder


def log(logs: Path, *, stage: str = "train", job_id: str | None = None) -> JobLog:
    return JobLog(run="llama", run_folder=str(logs.parent), stage=stage, job_id=job_id)


def test_the_last_lines_are_shown(logs: Path, session: Session):
    lines: list[str] = []
    log(logs).show(session, lines.append, lines=3)
    assert lines == [f"{logs}/llama-train-7.out", "step 18", "step 19", "step 20"]


def test_a_job_is_shown_by_its_id(logs: Path, session: Session):
    (logs / "llama-compile-6.out").write_text("compiled\n")
    lines: list[str] = []
    log(logs, job_id="6").show(session, lines.append, lines=3)
    assert lines[1:] == ["compiled"]


def test_a_log_is_followed_to_the_end_of_its_job(logs: Path, session: Session, cluster: FakeCluster):
    lines: list[str] = []
    log(logs).follow(session, lines.append)
    assert lines == [*(f"step {number}" for number in range(1, 21)), "job 7 has ended: COMPLETED|0:0"]


def test_a_session_that_is_cut_off_continues_at_its_line(logs: Path, session: Session, cluster: FakeCluster):
    cluster.has_trouble({1: "cut after 8", 2: "An error occurred (ThrottlingException): Rate exceeded"})
    lines: list[str] = []
    log(logs).follow(session, lines.append)
    assert lines[:-1] == [f"step {number}" for number in range(1, 21)]
    assert len(cluster.sessions()) == 3


def test_sessions_with_progress_may_be_cut_off_any_number_of_times(logs: Path, session: Session, cluster: FakeCluster):
    cluster.has_trouble(dict.fromkeys(range(1, 7), "cut after 4"))
    lines: list[str] = []
    log(logs).follow(session, lines.append)
    assert lines[:-1] == [f"step {number}" for number in range(1, 21)]
    assert len(cluster.sessions()) == 7


def test_of_several_jobs_of_a_stage_the_newest_is_shown(logs: Path, session: Session):
    (logs / "llama-train-12.out").write_text("newest\n")
    os.utime(logs / "llama-train-7.out", (1, 1))
    lines: list[str] = []
    log(logs).show(session, lines.append, lines=3)
    assert lines[1:] == ["newest"]


class Echo(Session):
    """Prints its command before it runs it, as a terminal does."""

    marks: list[str]

    def _command(self, script: str, mark: str) -> str:
        self.marks = [*getattr(self, "marks", []), mark]
        return f"echo '{mark} end 7'; {super()._command(script, mark)}"


def test_output_before_the_start_of_the_command_does_not_end_it(session: Session):
    echo = Echo(session.target, user="ada")
    assert echo.run("echo said; exit 3").code == 3
    earlier = f"echo {echo.marks[0]} end 9"
    assert echo.run(earlier).lines == (earlier.removeprefix("echo "),), "markers of an earlier session have no effect"


@pytest.mark.parametrize("wanted", [{"stage": "convert"}, {"job_id": "999"}])
def test_a_job_without_a_log_is_reported(logs: Path, session: Session, wanted: dict[str, str]):
    assert code_of(lambda: log(logs, **wanted).show(session, print, lines=3)) is Code.JOBS_NO_LOG


def test_a_job_that_waits_is_followed_until_it_has_run(logs: Path, session: Session, cluster: FakeCluster):
    jobs = cluster.folder / "jobs.json"
    jobs.write_text(json.dumps([{"id": 7, "options": ["--comment=other"], "state": "RUNNING"}]))
    lines: list[str] = []

    def hear(line: str) -> None:
        lines.append(line)
        if line == "step 20":
            with (logs / "llama-train-7.out").open("a") as file:
                print("step 21", file=file)
            jobs.write_text(json.dumps([{"id": 7, "options": ["--comment=other"], "state": "COMPLETED"}]))

    log(logs).follow(session, hear)
    assert lines[-2:] == ["step 21", "job 7 has ended: COMPLETED|0:0"]
