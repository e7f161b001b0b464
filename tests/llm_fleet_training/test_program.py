"""Verbs, codes, and the failure file for the batch file that started the program."""

import json
import os
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.llm_fleet_training.runs import ROOT

PAGE = ROOT / "docs" / "training" / "failures.md"
NEEDED = ("model", "backend", "sequence-length", "global-batch", "steps")
HEAD = """# Failures of training jobs

A training job that cannot continue prints two lines: `LFJnn: what was found`, and a remedy. This page lists the codes
of the [training program](program.md) with their remedies. It is generated (`make golden`) and checked by a test.

The program exits with 3 if a restart cannot fix the problem, with 1 if it may, and with 75 if a signal stopped it and
it has written a checkpoint. LFJ40 to LFJ49 are reported by the [batch files](jobs.md).

| code | subject | remedy |
|---|---|---|
"""


def test_generated_page_lists_every_code():
    from llm_fleet_training.failures import Code

    rows = sorted((code.code, code.name.replace("_", " ").lower(), code.remedy) for code in Code)
    page = HEAD + "".join(
        f"| {code} | {about} | {remedy.replace('|', chr(92) + '|')} |\n" for code, about, remedy in rows
    )
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "codes have changed: run `make golden`"


def test_every_failure_has_its_own_code():
    from llm_fleet_training.failures import Code

    assert [name for name, code in Code.__members__.items() if code.name != name] == []
    numbers = [code.code for code in Code]
    assert len(set(numbers)) == len(numbers)


def test_every_verb_prints_its_help_without_packages(capsys: pytest.CaptureFixture[str]):
    from llm_fleet_training.__main__ import main, names

    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for name in names():
        assert import_module(f"llm_fleet_training.verbs.{name}").SUMMARY in " ".join(said.split())
    assert {"train", "check", "checkpoints"} <= set(names())


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (["train"], "the following arguments are required"),
        (["trian"], "invalid choice: 'trian'"),
        (["train", "--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["check", "--precision", "half"], "invalid choice: 'half'"),
        (
            ["check", "--run-folder=", *(f"--{name}=1" for name in NEEDED)],
            "--run-folder is empty",
        ),
    ],
)
def test_invalid_options_are_reported_with_a_code(given: list[str], cause: str, capsys: pytest.CaptureFixture[str]):
    from llm_fleet_training.__main__ import main

    assert main(given) == 3
    said = capsys.readouterr().err
    assert said.startswith("LFJ01: ")
    assert cause in said
    assert "remedy: see the options" in said


def test_only_a_final_failure_is_written_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from llm_fleet_training.failures import Code, Failure, leave_word

    word = tmp_path / "failure.json"
    monkeypatch.setenv("LLM_FLEET_FAILURE_FILE", str(word))
    leave_word(Failure(Code.LOST_PEER, "lost", final=False))
    assert list(tmp_path.iterdir()) == []
    leave_word(Failure(Code.BATCH, "odd"))
    assert json.loads(word.read_text()) == {
        "code": "LFJ05", "cause": "odd", "remedy": Code.BATCH.remedy, "final": True,
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [word]
    monkeypatch.setenv("LLM_FLEET_FAILURE_FILE", str(tmp_path / "nowhere/failure.json"))
    leave_word(Failure(Code.BATCH, "odd"))  # A failure that cannot be written is still on standard error.
    assert Failure(Code.BATCH, "odd").exit_code == 3
    assert Failure(Code.LOST_PEER, "lost", final=False).exit_code == 1


def test_a_missing_package_and_a_lost_peer_have_their_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from llm_fleet_training import __main__ as program

    class Verb:
        SUMMARY = "fails"
        error: Exception

        @staticmethod
        def add_arguments(parser: object) -> None: ...

        @classmethod
        def run(cls, arguments: object) -> int:
            raise cls.error

    def imported(name: str) -> type[Verb]:
        return Verb

    monkeypatch.setattr(program.importlib, "import_module", imported)
    lost = RuntimeError("[gloo/transport/tcp/pair.cc:537] Read error [10.0.0.7]:8921: Connection reset by peer")
    for error, code, said in [
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 3, "LFJ08: .* has no Python package `torch`"),
        (lost, 1, "LFJ19: RuntimeError: .*Connection reset by peer"),
        (RuntimeError("shapes differ"), 1, "LFJ02: RuntimeError: shapes differ"),
    ]:
        Verb.error = error
        assert program.main(["check"]) == code
        assert re.search(said, capsys.readouterr().err)
