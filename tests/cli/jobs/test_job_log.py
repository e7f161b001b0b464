"""What a job writes is shown, whole and in order, also over sessions that are cut off."""

import json
import os
from pathlib import Path

import pytest

from llm_fleet.cli.jobs.job_log import JobLog
from llm_fleet.cli.session.session import Session
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from tests.cli.jobs.cluster_by_session import FakeCluster


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


def test_a_session_that_is_cut_off_goes_on_where_it_was(logs: Path, session: Session, cluster: FakeCluster):
    cluster.has_trouble({1: "cut after 8", 2: "An error occurred (ThrottlingException): Rate exceeded"})
    lines: list[str] = []
    log(logs).follow(session, lines.append)
    assert lines[:-1] == [f"step {number}" for number in range(1, 21)]
    assert len(cluster.sessions()) == 3


def test_sessions_that_get_on_may_be_cut_off_any_number_of_times(logs: Path, session: Session, cluster: FakeCluster):
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
    """Shows what it is to run before it runs it, as a terminal does."""

    marks: list[str]

    def _command(self, script: str, mark: str) -> str:
        self.marks = [*getattr(self, "marks", []), mark]
        return f"echo '{mark} end 7'; {super()._command(script, mark)}"


def test_what_is_shown_before_the_command_begins_does_not_end_it(session: Session):
    echo = Echo(session.target, user="ada")
    assert echo.run("echo said; exit 3").code == 3
    earlier = f"echo {echo.marks[0]} end 9"
    assert echo.run(earlier).lines == (earlier.removeprefix("echo "),), "what an earlier session said ends none either"


@pytest.mark.parametrize("wanted", [{"stage": "convert"}, {"job_id": "999"}])
def test_a_job_that_wrote_nothing_is_told(logs: Path, session: Session, wanted: dict[str, str]):
    with pytest.raises(FleetError) as caught:
        log(logs, **wanted).show(session, print, lines=3)
    assert [problem.code for problem in caught.value.problems] == [Code.JOBS_NO_LOG]


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
