"""Changes during a job: its nodes, its environments, and the end of its time."""

import os
import time
from pathlib import Path

from tests.lifecycle_scripts.jobs.desk import Desk


def ready(place: Path) -> Desk:
    return Desk(place).after("weights", "tokens")


def test_a_step_uses_its_own_node_list_and_not_that_of_the_job(tmp_path: Path) -> None:
    """HyperPod replaces a node during the job: the step's list is newer."""
    desk = ready(tmp_path)
    (tmp_path / "bin/scontrol").unlink()
    (tmp_path / "bin/scontrol").symlink_to("/bin/false")
    python = desk.submit("train", STEP_NODELIST="trn1-st-a-[5,7]").of("python")
    assert {words[words.index("--master_addr") + 1] for words in python} == {"trn1-st-a-5"}


def test_the_newest_version_of_an_environment_is_used(tmp_path: Path) -> None:
    desk = ready(tmp_path).set("run.sh", ENVIRONMENT="mine")
    for version, age in (("0123456789ab", 60), ("ba9876543210", 0), ("cccccccccccc", 3600)):
        folder = desk.shared / f"llm-fleet/environments/mine-{version}"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age, time.time() - age))
    assert "mine-ba9876543210 (venv)" in desk.submit("train").said


def test_a_run_folder_with_separators_of_pyxis_is_rejected(tmp_path: Path) -> None:
    """`:` and `,` are separators in its list of mounts."""
    for name in ("a:b", "a,b"):
        ended = ready(tmp_path / name[1]).set("run.sh", RUN_FOLDER=f"'{tmp_path}/{name}'").submit("train")
        assert (ended.code, ended.of("srun")) == (3, [])
        assert "LFJ43" in ended.said
        assert "without colons and commas" in ended.said


def test_a_requeued_job_waits_for_slurm_to_end_it(tmp_path: Path) -> None:
    """A job that ends by itself before Slurm has requeued it is FAILED."""
    desk = ready(tmp_path)
    desk.behavior = {"python": {"codes": [1]}}
    began = time.monotonic()
    ended = desk.submit("train", LLM_FLEET_REQUEUE_WAIT="0.4")
    assert ended.of("scontrol")[-1][0] == "requeue", ended.said
    assert time.monotonic() - began > 0.4
