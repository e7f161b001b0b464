"""What of a job's environment changes under it: its nodes, its environments, the time until Slurm ends it."""

import os
import time
from pathlib import Path

from tests.lifecycle_scripts.jobs.desk import Desk


def ready(place: Path) -> Desk:
    return Desk(place).after("weights", "tokens")


def test_a_step_meets_on_its_own_nodes_not_on_those_that_the_job_began_with(tmp_path: Path) -> None:
    """HyperPod replaces a node below the job: the step's list is the newer one."""
    desk = ready(tmp_path)
    (tmp_path / "bin/scontrol").unlink()
    (tmp_path / "bin/scontrol").symlink_to("/bin/false")
    python = desk.submit("train", STEP_NODELIST="trn1-st-a-[5,7]").of("python")
    assert {words[words.index("--master_addr") + 1] for words in python} == {"trn1-st-a-5"}


def test_of_two_versions_of_an_environment_the_newest_is_taken(tmp_path: Path) -> None:
    desk = ready(tmp_path).set("run.sh", ENVIRONMENT="mine")
    for version, age in (("0123456789ab", 60), ("ba9876543210", 0), ("cccccccccccc", 3600)):
        folder = desk.shared / f"llm-fleet/environments/mine-{version}"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age, time.time() - age))
    assert "mine-ba9876543210 (venv)" in desk.submit("train").said


def test_a_run_folder_that_pyxis_would_take_apart_is_refused(tmp_path: Path) -> None:
    """In its list of mounts, `:` and `,` are between names."""
    for name in ("a:b", "a,b"):
        ended = ready(tmp_path / name[1]).set("run.sh", RUN_FOLDER=f"'{tmp_path}/{name}'").submit("train")
        assert (ended.code, ended.of("srun")) == (3, [])
        assert "LFJ43" in ended.said
        assert "without colons and commas" in ended.said


def test_a_job_that_goes_back_into_the_queue_waits_to_be_ended(tmp_path: Path) -> None:
    """A job that ends by itself before Slurm has requeued it is FAILED."""
    desk = ready(tmp_path)
    desk.behavior = {"python": {"codes": [1]}}
    began = time.monotonic()
    ended = desk.submit("train", LLM_FLEET_REQUEUE_WAIT="0.4")
    assert ended.of("scontrol")[-1][0] == "requeue", ended.said
    assert time.monotonic() - began > 0.4
