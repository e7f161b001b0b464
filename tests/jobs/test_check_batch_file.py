"""Errors in an edited batch file are reported with their line, before the job fails on the cluster."""

import pytest

from llm_fleet.catalog.training_environments import job_stages
from llm_fleet.jobs.batch_file import BatchFile, check_batch_file, check_nodes, template

TRAIN = template("train")
KNOWN = job_stages()["train"].settings


def line_of(text: str, start: str) -> str:
    return f"line {next(number for number, line in enumerate(text.split(chr(10)), 1) if line.startswith(start))}"


def test_the_shipped_file_is_valid() -> None:
    assert check_batch_file(TRAIN, known=KNOWN) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "where", "words"),
    [
        ("begin train\n", 'begin "train\n', "LF880", "line", "unexpected EOF"),
        ("begin train\n", "if begin train\n", "LF880", "line", "syntax error"),
        ("# End of settings", "# End of the settings", "LF881", "", "'# End of settings'"),
        ("# Settings", "# My settings", "LF881", "", "'# Settings'"),
        ("STEPS=1000 ", "STEPS = 1000 ", "LF881", "STEPS = ", "not a setting of the form"),
        ("STEPS=1000 ", "STEPS=$(nproc) ", "LF881", "STEPS=$", "not a setting of the form"),
        ("STEPS=1000 ", "STEPS=1\nSTEPS=2 ", "LF882", "STEPS=2", "set twice"),
        ("STEPS=1000 ", "STEPS=1\nPATH=/tmp ", "LF882", "PATH=", "unknown setting"),
        ("#SBATCH --nodes=4", "#SBATCH --auto-resume=1", "LF883", "#SBATCH --auto", "an option of srun"),
        ("#SBATCH --nodes=4", "#SBATCH --node=4", "LF883", "#SBATCH --node=", "write `nodes`"),
        ("#SBATCH --nodes=4", "#SBATCH --nodes=four", "LF883", "#SBATCH --nodes=", "e.g. --nodes=4"),
        ("#SBATCH --nodes=4", "#SBATCH --nodes=0", "LF883", "#SBATCH --nodes=", "not a number of nodes"),
        ("begin train\n", "begin train\n#SBATCH --time=1:00:00\n", "LF883", "#SBATCH --time", "ignores"),
    ],
)
def test_a_mistake_is_reported_with_its_line(old: str, new: str, code: str, where: str, words: str) -> None:
    assert old in TRAIN
    edited = TRAIN.replace(old, new, 1)
    (problem,) = [one for one in check_batch_file(edited, known=KNOWN) if "missing" not in one.message]
    assert problem.code.value == code
    assert words in str(problem)
    if where:
        assert problem.where.startswith(where if where == "line" else line_of(edited, where))


def test_a_missing_setting_is_reported() -> None:
    edited = "\n".join(line for line in TRAIN.split("\n") if not line.startswith("STEPS="))
    (problem,) = check_batch_file(edited, known=KNOWN)
    assert (problem.code.value, problem.where) == ("LF882", "STEPS")


def test_windows_line_ends_are_the_only_reported_error() -> None:
    (problem,) = check_batch_file(TRAIN.replace("\n", "\r\n"), known=KNOWN)
    assert (problem.code.value, problem.where) == ("LF880", "line 1")


def test_short_options_and_several_options_in_a_line_are_read() -> None:
    file = BatchFile.parse("#!/bin/bash\n#SBATCH -N 4 --time 1:00:00 -ptrn1 --exclusive # all of it\necho\n")
    assert [(one.name, one.value) for one in file.directives] == [
        ("-N", "4"),
        ("time", "1:00:00"),
        ("-p", "trn1"),
        ("exclusive", None),
    ]


def test_a_line_after_a_command_is_not_an_option() -> None:
    file = BatchFile.parse("#!/bin/bash\n#SBATCH --nodes=4\necho\n#SBATCH --nodes=8\n")
    assert [(one.name, one.value) for one in file.directives] == [("nodes", "4")]
    assert file.late_directives == (4,)


@pytest.mark.parametrize(("requested", "wrong"), [("4", False), ("5", True), ("2-8", False), ("5-8", True)])
def test_more_nodes_than_the_partition_has_are_rejected(requested: str, wrong: bool) -> None:
    file = BatchFile.parse(TRAIN.replace("--nodes=4", f"--nodes={requested}"))
    assert [one.code.value for one in check_nodes(file, partition="trn1", nodes=4)] == ["LF883"] * wrong


def test_without_bash_the_other_checks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    edited = TRAIN.replace("begin train\n", 'begin "train\n').replace("--nodes=4", "--node=4")
    assert [one.code.value for one in check_batch_file(edited, known=KNOWN)] == ["LF883"]
