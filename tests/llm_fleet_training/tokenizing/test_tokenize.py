"""`tokenize` with a tokenizer that was trained here, and all kinds of invalid data."""

import gzip
import hashlib
import json
import os
import subprocess
from array import array
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_training.__main__ import main
from llm_fleet_training.tokenizing import together, units, worker
from tests.llm_fleet_training.tiny_model import CONFIG, TEXT, put, tokenizer_files

EOS = 1


@pytest.fixture
def run(torch: object, tmp_path: Path) -> Path:
    """A run's folder with config and tokenizer."""
    put(tmp_path / "run" / "weights", {"config.json": json.dumps(CONFIG).encode(), **tokenizer_files()})
    return tmp_path / "run"


def _tokenize(run: Path, *more: str) -> int:
    return main(["tokenize", "--run-folder", str(run), *more])


def _tokens(run: Path) -> tuple[dict[str, Any], list[int]]:
    said = json.loads((run / "tokens" / "tokens.json").read_text())
    data = (run / "tokens" / "tokens.bin").read_bytes()
    assert len(data) == said["bytes"]
    assert hashlib.sha256(data).hexdigest() == said["sha256"]
    found: array[int] = array({"uint16": "H", "uint32": "I"}[said["dtype"]])
    found.frombytes(data)
    assert len(found) == said["tokens"]
    return said, list(found)


def _expected(run: Path, texts: list[str]) -> list[int]:
    """The tokens by transformers, another implementation of the same tokenizer."""
    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(str(run / "weights"))
    return [each for text in texts for each in (*tokenizer(text, add_special_tokens=False)["input_ids"], EOS)]


def _lines(texts: list[str], field: str = "text") -> bytes:
    return "".join(json.dumps({field: text, "id": 1}) + "\n" for text in texts).encode()


def test_documents_of_every_kind_in_the_order_of_their_paths(run: Path, tmp_path: Path):
    packed = put(tmp_path / "data", {"a.jsonl.gz": gzip.compress(_lines(TEXT[:1])), "b/b.jsonl": _lines(TEXT[1:3])})
    put(packed, {"c.txt": TEXT[3].encode() + b"\nand more\n", ".hidden.txt": b"no", "e.md": b"no"})
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(_lines(TEXT[:2]))
    subprocess.run(["zstd", "-q", str(plain), "-o", str(packed / "d.jsonl.zst")], check=True)
    assert _tokenize(run, "--data", str(packed), "--processes", "1") == 0
    said, found = _tokens(run)
    assert found == _expected(run, [*TEXT[:3], TEXT[3] + "\nand more\n", *TEXT[:2]])
    assert (said["documents"], said["eos_token_id"], said["dtype"], said["vocabulary"]) == (6, EOS, "uint16", 320)
    assert sorted(path.name for path in (run / "tokens").iterdir()) == ["tokens.bin", "tokens.json"]
    assert sorted(path.name for path in run.iterdir()) == [".tokens.lock", "tokens", "weights"]


def test_the_result_does_not_depend_on_the_number_of_processes(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    texts = [f"{text} {number}" for number in range(60) for text in TEXT]
    data = put(tmp_path / "data", {"a.jsonl": _lines(texts[:150]), "b.txt": "\n".join(texts[150:]).encode()})
    found: list[list[int]] = []
    for processes, unit_bytes in ((1, 1 << 30), (1, 1000), (2, 4000)):
        monkeypatch.setattr(units.cut_files, "__kwdefaults__", {"unit_bytes": unit_bytes})
        to = tmp_path / f"tokens-{processes}-{unit_bytes}"
        words = ["--data", str(data), "--documents", "line", "--to", str(to), "--processes", str(processes)]
        assert _tokenize(run, *words) == 0
        to.rename(run / "tokens")
        found.append(_tokens(run)[1])
        (run / "tokens").rename(to)
    assert found[0] == found[1] == found[2] == _expected(run, texts)


def test_units_end_at_line_ends_and_cover_all_data(tmp_path: Path):
    data = b"".join(b"x" * size + b"\n" for size in (1, 50, 3, 200, 7)) + b"no end"
    (path := tmp_path / "a.jsonl").write_bytes(data)
    for unit_bytes in (1, 10, 64, 1000):
        cut = units.cut_files([path], text_is="file", unit_bytes=unit_bytes)
        assert b"".join(data[unit.start : unit.end] for unit in cut) == data
        assert all(data[unit.end - 1 : unit.end] == b"\n" for unit in cut[:-1])
    path.write_bytes(b"")
    assert [(unit.start, unit.end) for unit in units.cut_files([path], text_is="file")] == [(0, 0)]


def test_a_stopped_run_continues_and_a_completed_one_does_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    data = put(tmp_path / "data", {f"{number}.txt": text.encode() for number, text in enumerate(TEXT)})
    done: list[int] = []

    def stopping(limit: int) -> Callable[[worker.Task], dict[str, int]]:
        def tokenize(task: worker.Task) -> dict[str, int]:
            if len(done) == limit:
                raise KeyboardInterrupt
            done.append(task.number)
            return worker.tokenize_unit(task)

        return tokenize

    words = ["--data", str(data), "--processes", "1"]
    monkeypatch.setattr(together, "tokenize_unit", stopping(2))
    assert _tokenize(run, *words) == 130
    assert not (run / "tokens").exists()
    monkeypatch.setattr(together, "tokenize_unit", stopping(99))
    assert _tokenize(run, *words) == 0
    assert done == [0, 1, 2, 3]
    assert _tokens(run)[1] == _expected(run, TEXT)
    assert _tokenize(run, *words) == 0
    assert done == [0, 1, 2, 3]
    # Other data never replaces the data of a started run.
    (data / "0.txt").write_text("something else")
    assert _tokenize(run, *words) == 3
    assert f"LFJ35: {run}/tokens has tokens of other data" in capsys.readouterr().err


def test_units_of_other_data_are_tokenized_again(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = put(tmp_path / "data", {"a.txt": b"old", "b.txt": b"\xff"})
    assert _tokenize(run, "--data", str(data), "--processes", "1") == 3
    assert (run / ".tokens.part" / "unit-000000.bin").exists()
    put(data, {"a.txt": TEXT[0].encode(), "b.txt": TEXT[1].encode()})
    assert _tokenize(run, "--data", str(data), "--processes", "1") == 0
    assert _tokens(run)[1] == _expected(run, TEXT[:2])


GOOD = _lines(TEXT)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.jsonl", GOOD + b'{"text": "cut o', "a.jsonl:5: Unterminated string"),
        ("a.jsonl", GOOD + b"[1]\n", "a.jsonl:5: the line is not a JSON object"),
        ("a.jsonl", GOOD + b'\n{"body": "x"}\n', "a.jsonl:6: no field 'text'; its fields: body"),
        ("a.jsonl", GOOD + b'{"text": 1}\n', "a.jsonl:5: the field 'text' is not a string"),
        ("a.jsonl", GOOD + b'{"text": "\\ud800"}\n', "a.jsonl:5: the text has an unpaired surrogate"),
        ("a.jsonl", GOOD + b'{"text": "\xe4"}\n', "a.jsonl:5: not UTF-8: invalid continuation byte (0xe4)"),
        ("a.txt", b"one\ntwo\n\xff\n", "a.txt:3: not UTF-8: invalid start byte (0xff)"),
        ("a.jsonl.gz", gzip.compress(GOOD)[:-20], "a.jsonl.gz: the file is truncated, or not a gzip file"),
        ("a.jsonl.gz", b"text", "a.jsonl.gz: the file is truncated, or not a gzip file: Not a gzipped file"),
        ("a.jsonl.zst", b"text", "a.jsonl.zst: zstd: "),
        ("a.jsonl", b"\n\n", "no text in "),
        ("a.txt", b" \n", "no text in "),
        ("a.parquet", b"PAR1", "a.parquet is neither .txt nor .jsonl"),
    ],
)
def test_invalid_data_is_reported_with_file_and_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    name: str, data: bytes, said: str,
):  # fmt: skip
    monkeypatch.setattr(units.cut_files, "__kwdefaults__", {"unit_bytes": 200})
    put(tmp_path, {name: data})
    assert _tokenize(run, "--data", str(tmp_path / name), "--processes", "1") == 3
    reported = capsys.readouterr().err
    assert reported.startswith("LFJ35: ")
    assert said in reported
    assert not (run / "tokens").exists()


def test_the_first_invalid_unit_is_reported_for_any_number_of_processes(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    data = put(tmp_path / "data", {"a.jsonl": GOOD, "b.jsonl": b"{}\n", "c.jsonl": b"[]\n"})
    assert _tokenize(run, "--data", str(data), "--processes", "2") == 3
    assert f"LFJ35: {data}/b.jsonl:1: no field 'text'; its fields: none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/nowhere", "/nowhere does not exist"),
        ("weights", "weights has no text file"),
    ],
)
def test_a_data_set_that_does_not_exist(run: Path, capsys: pytest.CaptureFixture[str], given: str, said: str):
    for path in (run / "weights").glob("*.json"):
        path.rename(path.with_suffix(".yaml"))
    given = str(run / given) if given == "weights" else given
    assert _tokenize(run, "--data", given) == 3
    assert f"LFJ35: {said}" in capsys.readouterr().err.replace(f"{run}/", "")


def test_a_tokenizer_with_a_larger_vocabulary_than_the_model(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    put(tmp_path, {"a.txt": b"text"})
    put(run / "weights", {"config.json": json.dumps({**CONFIG, "vocab_size": 300}).encode()})
    assert _tokenize(run, "--data", str(tmp_path / "a.txt")) == 3
    assert "tokenizer.json has ids up to 319, but the model in " in capsys.readouterr().err


def test_the_end_token_is_read_from_tokenizer_or_config(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    put(tmp_path, {"a.txt": TEXT[0].encode()})
    (run / "weights" / "tokenizer_config.json").unlink()
    assert _tokenize(run, "--data", str(tmp_path / "a.txt"), "--processes", "1") == 0
    assert _tokens(run)[1][-1] == EOS
    put(run / "weights", {"config.json": json.dumps({**CONFIG, "eos_token_id": None}).encode()})
    assert _tokenize(run, "--data", str(tmp_path / "a.txt"), "--to", str(tmp_path / "other")) == 3
    assert "LFJ36: neither tokenizer_config.json nor config.json" in capsys.readouterr().err


def test_without_a_tokenizer(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    put(tmp_path, {"a.txt": b"text"})
    for path in (run / "weights").iterdir():
        os.unlink(path)
    assert _tokenize(run, "--data", str(tmp_path / "a.txt")) == 3
    assert "LFJ36: " in capsys.readouterr().err
    put(run / "weights", {"tokenizer.json": b"{}"})
    assert _tokenize(run, "--data", str(tmp_path / "a.txt")) == 3
    assert "is not a tokenizer" in capsys.readouterr().err


def test_large_vocabularies_use_four_bytes_for_each_token(torch: object):
    from llm_fleet_training.tokenizing.tokenizer import TokenizerFacts

    assert [TokenizerFacts("", "", size, 0).dtype for size in (65536, 65537)] == ["uint16", "uint32"]
