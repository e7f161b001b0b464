"""Errors of batch files when something is missing: code and remedy."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_fleet_training.failures import Code
from tests.lifecycle_scripts.jobs.desk import JOBS, Desk


def no_settings(desk: Desk) -> None:
    desk.settings.unlink()


def no_run_sh(desk: Desk) -> None:
    (desk.folder / "run.sh").unlink()


def broken_run_sh(desk: Desk) -> None:
    desk.set("run.sh", MODEL='"open')


def unwritable(desk: Desk) -> None:
    desk.set("run.sh", RUN_FOLDER="/proc/1/nothing")


def relative(desk: Desk) -> None:
    desk.set("run.sh", RUN_FOLDER="runs/here")


def nothing_tokenized(desk: Desk) -> None:
    (desk.run / "tokens/something").unlink()


def other_nodes(desk: Desk) -> None:
    desk.reported(LLM_FLEET_ACCELERATOR="gpu")


def misspelt(desk: Desk) -> None:
    desk.set("run.sh", BACKEND="neurom")


def other_stage(desk: Desk) -> None:
    desk.set("run.sh", BACKEND="nemo-megatron")


def without_environment(desk: Desk) -> None:
    desk.reported(LLM_FLEET_ENVIRONMENT="", LLM_FLEET_ENVIRONMENT_KIND="none")


def environment_gone(desk: Desk) -> None:
    desk.reported(LLM_FLEET_ENVIRONMENT=str(desk.root / "gone"))


def unknown_environment(desk: Desk) -> None:
    desk.set("run.sh", ENVIRONMENT="mine")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (no_settings, "LFJ40"),
        (no_run_sh, "LFJ41"),
        (broken_run_sh, "LFJ42"),
        (unwritable, "LFJ43"),
        (relative, "LFJ43"),
        (nothing_tokenized, "LFJ44"),
        (other_nodes, "LFJ45"),
        (misspelt, "LFJ46"),
        (other_stage, "LFJ46"),
        (without_environment, "LFJ47"),
        (environment_gone, "LFJ47"),
        (unknown_environment, "LFJ47"),
    ],
)
def test_failed_checks_of_training_have_a_code_and_a_remedy(
    tmp_path: Path, spoil: Callable[[Desk], None], code: str
) -> None:
    desk = Desk(tmp_path).after("weights", "tokens")
    spoil(desk)
    ended = desk.submit("train")
    assert (ended.code, f"{code}: " in ended.said, "\n  remedy: " in ended.said) == (3, True, True), ended.said
    assert not ended.of("srun")
    assert not ended.of("scontrol")


def test_no_environment_and_a_missing_one_have_different_remedies(tmp_path: Path) -> None:
    desk = Desk(tmp_path, kind="none").after("weights", "tokens")
    assert "the nodes of this partition have no training environment" in desk.submit("train").said


def test_every_code_of_the_batch_files_is_in_the_list_of_codes() -> None:
    text = "".join(file.read_text() for file in JOBS.iterdir() if file.suffix in (".sh", ".sbatch"))
    listed = {one.code for one in Code if "LFJ40" <= one.code <= "LFJ49"}
    assert set(re.findall(r"LFJ\d\d", text)) == listed


@pytest.mark.parametrize(
    ("stage", "accelerator", "code"),
    [
        ("compile", "gpu", "LFJ45"),
        ("test-nccl", "neuron", "LFJ45"),
        ("test-nccom", "none", "LFJ45"),
        ("tokenize", "neuron", "LFJ46"),
        ("train-nemo-megatron", "neuron", "LFJ46"),
        ("convert", "neuron", "LFJ44"),
        ("export", "neuron", "LFJ44"),
    ],
)
def test_failed_checks_of_other_stages(tmp_path: Path, stage: str, accelerator: str, code: str) -> None:
    ended = Desk(tmp_path, accelerator=accelerator).after("weights").submit(stage)
    assert (ended.code, f"{code}: " in ended.said, "\n  remedy: " in ended.said) == (3, True, True), ended.said


@pytest.mark.parametrize(("stage", "missing"), [("test-nccom", "nccom-test"), ("compile", "neuron_parallel_compile")])
def test_a_missing_program_of_a_vendor_is_reported(tmp_path: Path, stage: str, missing: str) -> None:
    desk = Desk(tmp_path).after("weights")
    (tmp_path / "bin" / missing).unlink()
    ended = desk.submit(stage)
    assert f"LFJ49: trn1-st-a-4 has no {missing}" in ended.said


@pytest.mark.parametrize(
    ("name", "found", "kind"),
    [
        ("other", "other", "venv"),
        ("other", "other-0123456789ab", "conda"),
        ("smp", "smp-0123456789ab.sqsh", "container"),
    ],
)
def test_a_run_can_use_another_environment(tmp_path: Path, name: str, found: str, kind: str) -> None:
    desk = Desk(tmp_path).after("weights", "tokens").set("run.sh", ENVIRONMENT=name)
    place = desk.shared / "llm-fleet/environments" / found
    if kind == "container":
        place.write_text("")
        (tmp_path / "bin/python3").symlink_to("recorder")
    else:
        (place / "bin").mkdir(parents=True)
        (place / "bin/python").symlink_to(tmp_path / "bin/recorder")
    if kind == "conda":
        (place / "conda-meta").mkdir()
    ended = desk.submit("train")
    assert (ended.code, f"{place} ({kind})" in ended.said) == (0, True), ended.said


@pytest.mark.parametrize(
    ("listed", "first"),
    [
        ("ip-10-1-0-[4-6,9]", "ip-10-1-0-4"),
        ("ip-10-1-0-7", "ip-10-1-0-7"),
        ("a1,b[2-3]", "a1"),
        ("q-st-[01-08]-x,c", "q-st-01-x"),
    ],
)
def test_a_container_without_scontrol_finds_the_first_node(tmp_path: Path, listed: str, first: str) -> None:
    desk = Desk(tmp_path, kind="container").after("weights", "tokens")
    (tmp_path / "bin/scontrol").unlink()
    words = desk.submit("train", SLURM_JOB_NODELIST=listed).of("python3")[0]
    assert words[words.index("--master_addr") + 1] == first
