"""`download` from a folder and from S3; incomplete models; pickles."""

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_training.__main__ import main
from llm_fleet_training.failures import Failure
from llm_fleet_training.weights.entries import Entry, choose
from llm_fleet_training.weights.model_folder import misses
from llm_fleet_training.weights.whole_folder import WholeFolder
from tests.llm_fleet_training.conftest import SCRIPTS
from tests.llm_fleet_training.stand_ins.programs import Programs
from tests.llm_fleet_training.tiny_model import model_files, put, weights


@pytest.fixture
def source(torch: object, tmp_path: Path) -> Path:
    return put(tmp_path / "source", model_files())


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path, monkeypatch)


def _refused(capsys: pytest.CaptureFixture[str], *words: str, code: int = 3) -> str:
    assert main(["download", *words]) == code
    return capsys.readouterr().err


def test_a_folder_is_copied_and_a_second_run_does_nothing(source: Path, tmp_path: Path):
    to = tmp_path / "weights"
    for _ in range(2):
        assert main(["download", "--model", str(source), "--to", str(to)]) == 0
    said = json.loads((to / "download.json").read_text())
    assert said["source"] == str(source)
    assert set(said["files"]) == {path.name for path in to.iterdir()} - {"download.json"}
    assert not {"pytorch_model.bin", "README.md"} & set(said["files"])


def test_an_interrupted_copy_continues_with_the_missing_files(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    copied: list[str] = []
    stops = ["tokenizer.json"]
    real = shutil.copyfile

    def copy(one: Path, other: Path) -> None:
        copied.append(one.name)
        if one.name in stops:
            stops.clear()
            raise KeyboardInterrupt
        real(one, other)

    monkeypatch.setattr("shutil.copyfile", copy)
    words = ["download", "--model", str(source), "--to", str(tmp_path / "weights")]
    assert main(words) == 130
    begun, copied[:] = set(copied), []
    put(source, {"config.json": model_files()["config.json"][:-1] + b" "})
    put(source, {"config.json": model_files()["config.json"]})  # of the same size, and another file
    assert main(words) == 0
    assert set(copied) & begun == {"config.json", "tokenizer.json"}


def test_an_existing_empty_folder_is_used(source: Path, tmp_path: Path):
    (tmp_path / "weights").mkdir()
    assert main(["download", "--model", str(source), "--to", str(tmp_path / "weights")]) == 0


def test_s3_is_read_object_by_object_and_continues(
    source: Path,
    tmp_path: Path,
    programs: Programs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    source.rename(programs.bucket / "tiny")
    words = ["--model", "s3://models/tiny/", "--to", str(tmp_path / "weights")]
    monkeypatch.setenv("BROKEN", "tokenizer.json")
    said = _refused(capsys, *words)
    assert said.startswith("LFJ33: `aws s3 cp --no-progress --only-show-errors s3://models/tiny/tokenizer.json")
    assert "Forbidden" in said
    assert not (tmp_path / "weights").exists()
    before = {words[4] for words in programs.aws if words[1] == "cp"}
    monkeypatch.delenv("BROKEN")
    assert main(["download", *words]) == 0
    again = [words[4] for words in programs.aws[len(before) + 1 :] if words[1] == "cp"]
    assert set(again) & before == {"s3://models/tiny/tokenizer.json"}
    assert misses(tmp_path / "weights", weights=True) == []
    # The same place in another notation.
    assert main(["download", "--model", "s3://models/tiny", "--to", str(tmp_path / "weights")]) == 0


@pytest.mark.parametrize(
    ("model", "beginning"),
    [
        ("s3://models/nothing", "LFJ32: no objects at s3://models/nothing/"),
        ("s3://", "LFJ32: 's3://' is not an S3 address"),
        ("/nowhere/at/all", "LFJ32: /nowhere/at/all: No such file or directory"),
    ],
)
def test_a_missing_source(
    tmp_path: Path, programs: Programs, capsys: pytest.CaptureFixture[str], model: str, beginning: str
):
    assert _refused(capsys, "--model", model, "--to", str(tmp_path / "weights")).startswith(beginning)


def test_without_the_aws_cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = _refused(capsys, "--model", "s3://models/tiny", "--to", str(tmp_path / "weights"))
    assert said.startswith("LFJ33: the AWS CLI cannot be started: aws: No such file or directory")


def test_a_revision_applies_only_to_the_hub(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    said = _refused(capsys, "--model", str(source), "--revision", "v1", "--to", str(tmp_path / "weights"))
    assert said.startswith("LFJ01: --revision v1 applies only to the Hub")


def test_foreign_files_are_not_changed(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    put(tmp_path / "weights", {"mine.txt": b"?"})
    said = _refused(capsys, "--model", str(source), "--to", str(tmp_path / "weights"))
    assert said.startswith(f"LFJ10: {tmp_path}/weights has files, but no download.json")


def test_two_downloads_to_one_folder(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = WholeFolder(tmp_path / "weights", marker="download.json")
    with other.making():
        said = _refused(capsys, "--model", str(source), "--to", str(tmp_path / "weights"))
    assert said.startswith("LFJ10: another process writes")


def test_a_truncated_file_and_an_index_without_its_files(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    first = source / "model-00001-of-00002.safetensors"
    first.write_bytes(first.read_bytes()[:-1])
    (source / "model-00002-of-00002.safetensors").unlink()
    said = _refused(capsys, "--model", str(source), "--to", str(tmp_path / "weights"))
    assert said.startswith(f"LFJ34: {source} is not a complete model: ")
    assert "model-00001-of-00002.safetensors: it has" in said
    assert "lists weights of model-00002-of-00002.safetensors that are missing" in said
    assert not (tmp_path / "weights").exists()


def test_pickles_are_converted_only_with_the_option(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    torch: Any = import_module("torch")
    for path in source.glob("*.safetensors*"):
        path.unlink()
    held = weights()
    names = list(held)
    torch.save({name: held[name] for name in names[:5]}, source / "pytorch_model-00001-of-00002.bin")
    rotary = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    torch.save({name: held[name] for name in names[5:]} | rotary, source / "pytorch_model-00002-of-00002.bin")
    (source / "pytorch_model.bin").unlink()
    words = ["--model", str(source), "--to", str(tmp_path / "weights")]
    assert "LFJ34: " + str(source) + " has weights only as pickle files" in _refused(capsys, *words)
    assert main(["download", *words, "--pickles"]) == 0
    assert list((tmp_path / "weights").glob("*.bin*")) == []
    found = import_module("safetensors.torch").load_file(tmp_path / "weights" / "model.safetensors")
    assert set(found) == set(held)
    assert all(torch.equal(found[name], held[name]) for name in held)


def test_code_in_a_pickle_is_not_run(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    torch: Any = import_module("torch")
    for path in source.glob("*.safetensors*"):
        path.unlink()
    torch.save({"model.norm.weight": _Code(str(tmp_path / "ran"))}, source / "pytorch_model.bin")
    said = _refused(capsys, "--model", str(source), "--to", str(tmp_path / "weights"), "--pickles")
    assert said.startswith("LFJ34: ")
    assert not (tmp_path / "ran").exists()


class _Code:
    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (os.mkdir, (self._path,))


def test_selection_of_files():
    names = [
        "config.json",
        "consolidated.safetensors",
        "model.safetensors",
        "tokenizer.model",
        "model.gguf",
        "a/b.json",
    ]
    taken = choose([Entry(path=name, size=1) for name in names], "there", weights=True, pickles=False)
    assert {entry.path for entry in taken} == {"config.json", "model.safetensors", "tokenizer.model"}
    with pytest.raises(Failure, match=r"there has no config.json: model.safetensors"):
        choose([Entry(path="model.safetensors", size=1)], "there", weights=True, pickles=False)
    with pytest.raises(Failure, match=r"there has no weights: config.json"):
        choose([Entry(path="config.json", size=1)], "there", weights=True, pickles=False)


def test_a_replacement_killed_between_its_renames_is_undone(tmp_path: Path):
    folder = WholeFolder(tmp_path / "made", marker="made.json")
    for number in (1, 2):
        with folder.making() as part:
            (part / "file").write_text(str(number))
            folder.finish({"number": number})
        assert folder.document() == {"number": number}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".made.lock", "made"]
    (tmp_path / "made").rename(tmp_path / ".made.old")
    assert folder.document() == {"number": 2}


def test_no_large_package_is_imported_for_a_complete_folder():
    code = (
        "import sys; from llm_fleet_training.__main__ import parser; parser('download'); "
        "assert not {'torch', 'transformers', 'huggingface_hub', 'safetensors', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": SCRIPTS}, check=True)
