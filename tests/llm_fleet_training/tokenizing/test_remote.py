"""`tokenize` of data that is in S3 or on the Hub: downloaded once, in the same way as weights."""

import gzip
import json
from pathlib import Path

import pytest

from llm_fleet_training.__main__ import main
from tests.llm_fleet_training.stand_ins.hub import COMMIT, StandInHub
from tests.llm_fleet_training.stand_ins.programs import Programs
from tests.llm_fleet_training.tiny_model import CONFIG, TEXT, put, tokenizer_files

LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXT).encode()
FILES = {
    "README.md": b"# data",
    "LICENSE.txt": b"no text to learn",
    "dataset_infos.json": b"{}",
    "en/b.json.gz": gzip.compress(LINES),
    "a.txt": TEXT[0].encode(),
}


@pytest.fixture
def folder(torch: object, tmp_path: Path) -> Path:
    put(tmp_path / "run" / "weights", {"config.json": json.dumps(CONFIG).encode(), **tokenizer_files()})
    return tmp_path / "run"


def _tokenize(folder: Path, data: str) -> int:
    return main(["tokenize", "--run-folder", str(folder), "--data", data, "--processes", "1"])


def _documents(folder: Path) -> int:
    return json.loads((folder / "tokens" / "tokens.json").read_text())["documents"]


def test_a_data_set_of_the_hub(folder: Path, hub: StandInHub):
    hub.files = FILES
    assert _tokenize(folder, "owner/tiny@v1") == 0
    assert _documents(folder) == 5
    text = folder / "text" / "owner--tiny--v1"
    assert json.loads((text / ".text.json").read_text())["revision"] == COMMIT
    assert sorted(path.name for path in text.rglob("*") if path.is_file()) == [".text.json", "a.txt", "b.json.gz"]
    hub.requested.clear()
    assert _tokenize(folder, "owner/tiny@v1") == 0
    assert hub.requested == []


def test_a_data_set_without_text_files(folder: Path, hub: StandInHub, capsys: pytest.CaptureFixture[str]):
    hub.files = {"data/train.parquet": b"PAR1"}
    assert _tokenize(folder, "owner/tiny") == 3
    assert "LFJ35: owner/tiny of " in (said := capsys.readouterr().err)
    assert "has no text file of a supported type: data/train.parquet" in said
    assert _tokenize(folder, "owner/nothing") == 3
    assert "LFJ32: there is no public data set owner/nothing" in capsys.readouterr().err
    assert not (folder / "tokens").exists()


def test_a_data_set_in_s3(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    programs = Programs(tmp_path / "programs", monkeypatch)
    put(programs.bucket / "data", FILES)
    monkeypatch.setenv("BROKEN", "b.json.gz")
    assert _tokenize(folder, "s3://models/data") == 3
    assert "LFJ33: " in capsys.readouterr().err
    monkeypatch.delenv("BROKEN")
    assert _tokenize(folder, "s3://models/data") == 0
    assert _documents(folder) == 5
    assert [words[4] for words in programs.aws if words[1] == "cp"].count("s3://models/data/a.txt") == 1


def test_a_local_path_takes_precedence(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "owner" / "tiny", {"a.txt": b"here"})
    assert _tokenize(folder, "owner/tiny") == 0
    assert _documents(folder) == 1
