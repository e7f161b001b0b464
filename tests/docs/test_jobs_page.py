"""The page of the batch files lists every stage and setting, and its commands work."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from llm_fleet.cli.main import main
from tools.jobs_page import PLACE, page
from tools.synth_environment import ROOT


def test_generated_tables_are_those_of_the_batch_files() -> None:
    text = PLACE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        PLACE.write_text(page(text), encoding="utf-8")
    assert PLACE.read_text(encoding="utf-8") == page(text), "batch files have changed: run `make golden`"


def test_commands_of_the_page_work_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples/training-llama2-7b.yaml", "fleet.yaml")
    lines = [line for line in PLACE.read_text().splitlines() if line.startswith("$ llm-fleet jobs ")]
    commands = [shlex.split(line, comments=True)[2:] for line in lines]
    assert [words[1] for words in commands] == ["list", "render", "render", "check", "check"]
    for words in commands:
        given = [str(found) for word in words for found in (sorted(Path().glob(word)) if "*" in word else [word])]
        assert main(given) == 0, capsys.readouterr().err
    assert sorted(place.name for place in tmp_path.iterdir()) == ["again", "fleet.yaml", "llama2-7b"]
