"""`export` and `register`, with recorders for `optimum-cli` and `aws`, and the service's own check at the end."""

import itertools
import json
import shutil
from pathlib import Path

import pytest

from llm_fleet import AwsVllmServer, HuggingFaceVllmServer, Model, TgiServer
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.lifecycle.model_checker.check import Folder, findings
from llm_fleet.rules.inference.model import requested_of_model
from llm_fleet.spec.model_server import ModelServer
from llm_fleet_training.__main__ import main
from llm_fleet_training.serving.server import Serving, servers
from tests.llm_fleet_training.stand_ins.programs import Programs
from tests.llm_fleet_training.tiny_model import model_files, put

TO = "s3://models/tiny"
SERVED = ["--server", "tgi", "--instance-type", "inf2.xlarge"]
MARKER = "llm-fleet-model.json"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # The exporter sets it; the test's own value is restored.
    return Programs(tmp_path, monkeypatch)


@pytest.fixture
def folder(torch: object, tmp_path: Path) -> Path:
    """A run that was converted."""
    left = ("README.md", "pytorch_model.bin", ".gitattributes")
    files = {name: data for name, data in model_files().items() if name not in left and "/" not in name}
    note = {"step": 4, "parameters_sha256": "f00d"}
    return put(tmp_path / "run" / "huggingface", {**files, "convert.json": json.dumps(note).encode()}).parent


def _export(folder: Path, *more: str) -> int:
    return main(["export", "--run-folder", str(folder), *SERVED, *more])


def _register(folder: Path, *more: str, to: str = TO) -> int:
    return main(["register", "--run-folder", str(folder), "--to", to, *more])


def _requested(instance_type: str = "inf2.xlarge", server: ModelServer | None = None, *, compiled: bool = True):
    instance = neuron_instance(instance_type)
    assert instance is not None
    model = Model(s3_uri="s3://models-of-ours/Llama-2-7b-hf", compiled=compiled)
    return dict(requested_of_model(server or TgiServer(), model, instance))


def test_a_model_is_exported_registered_and_accepted_by_the_service(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]
):
    assert _export(folder) == 0
    part = str(folder / ".exported.part")
    assert programs.optimum == [
        "export", "neuron", "--model", str(folder / "huggingface"), "--task", "text-generation", "--batch_size", "4",
        "--sequence_length", "4096", "--num_cores", "2", "--auto_cast_type", "bf16", part,
    ]  # fmt: skip
    assert _register(folder) == 0
    assert f"the service accepts it: set `model: {TO}`" in capsys.readouterr().out
    place = programs.bucket / "tiny"
    assert findings({**_requested(), "shards_needed": True}, Folder(str(place))) == []
    said = json.loads((place / MARKER).read_text())
    assert said["source"] == f"{folder}/huggingface (step 4, parameters f00d)"
    assert (said["target"], said["tensor_parallel"], said["server"]) == ("trn1", 2, "tgi")
    names = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert names >= {"config.json", "model.pt", "tokenizer.json", "neuron_config.json", MARKER}
    assert not names & {"convert.json", "export.json"}
    # The marker is written last.
    written = [words for words in programs.aws if words[1] == "cp" and words[-1].startswith("s3://")]
    assert written[-1][-1] == f"{TO}/{MARKER}"


def test_a_second_run_exports_and_uploads_nothing(folder: Path, programs: Programs):
    assert (_export(folder), _register(folder)) == (0, 0)
    programs.without("optimum-cli")
    before = len(programs.aws)
    assert (_export(folder), _register(folder)) == (0, 0)
    assert not [words for words in programs.aws[before:] if words[1] == "cp" and words[-1].startswith("s3://")]


def test_requirements_are_those_of_the_service(torch: object):
    known = servers()
    makers = {"tgi": TgiServer, "hugging-face-vllm": HuggingFaceVllmServer}
    for (name, facts), instance_type in itertools.product(known["servers"].items(), known["instances"]):
        if name in makers and known["instances"][instance_type]["family"] in facts["families"]:
            requested = Serving(name, instance_type).requested
            assert requested == {**_requested(instance_type, makers[name]()), "shards_needed": True}, (
                name,
                instance_type,
            )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--server", "tgy"], "LFJ01: unknown value 'tgy' for --server; allowed: tgi, hugging-face-vllm, aws-vllm"),
        (
            ["--instance-type", "inf2.small"],
            "LFJ01: unknown value 'inf2.small' for --instance-type; allowed: inf2.xlarge",
        ),
        (
            ["--instance-type", "trn2.48xlarge"],
            "LFJ01: tgi does not run on trn2.48xlarge; allowed families: inf2, trn1",
        ),
        (["--tensor-parallel", "3"], "LFJ01: tensor parallel 3 does not fit inf2.xlarge; allowed: 1, 2 cores"),
        (["--batch-size", "0"], "LFJ01: llm_fleet_training export: argument --batch-size: 0 must be 1 or more"),
    ],
)
def test_invalid_servers_are_rejected(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str], more: list[str], said: str
):
    assert _export(folder, *more) == 3
    assert said in capsys.readouterr().err
    assert programs.optimum is None


def test_without_optimum(folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]):
    programs.without("optimum-cli")
    assert _export(folder) == 3
    assert "LFJ38: optimum-cli is not on this node's PATH: " in capsys.readouterr().err


def test_a_failed_export_leaves_no_folder(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPTIMUM", "fails")
    assert _export(folder) == 3
    assert "LFJ38: optimum-cli could not export" in capsys.readouterr().err
    assert not (folder / "exported").exists()
    monkeypatch.delenv("OPTIMUM")
    monkeypatch.setenv("COMPILER", "2.23.6484.0")
    assert _export(folder) == 3
    said = capsys.readouterr().err
    assert "compiled by neuronx-cc 2.23.6484.0, and the server's image has 2.19.8089.0" in said
    assert not (folder / "exported").exists()
    monkeypatch.delenv("COMPILER")
    assert _export(folder) == 0


def test_an_incomplete_model_is_not_exported(folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]):
    (folder / "huggingface" / "model-00001-of-00002.safetensors").unlink()
    assert _export(folder) == 3
    assert "LFJ34: " in capsys.readouterr().err
    shutil.rmtree(folder / "huggingface")
    assert _export(folder) == 3
    assert "is not a complete model: it does not exist" in capsys.readouterr().err
    assert _register(folder) == 3
    assert "run the previous stages first" in capsys.readouterr().err


def test_servers_that_compile_themselves_get_the_plain_model(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]
):
    own = ["--server", "aws-vllm", "--instance-type", "trn1.32xlarge"]
    assert _export(folder, *own) == 0
    assert "aws-vllm compiles models itself" in capsys.readouterr().out
    assert programs.optimum is None
    assert _register(folder, *own) == 0
    place = programs.bucket / "tiny"
    assert (place / "model-00001-of-00002.safetensors").exists()
    assert not (place / "convert.json").exists()
    assert findings(_requested("trn1.32xlarge", AwsVllmServer(), compiled=False), Folder(str(place))) == []
    # For a server that loads exported models it is not a model.
    assert [line.split(":")[0] for line in findings(_requested(), Folder(str(place)))] == ["model-not-compiled"]


def test_another_model_is_overwritten_only_with_the_option(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]
):
    assert (_export(folder), _register(folder)) == (0, 0)
    before = {path: path.read_bytes() for path in programs.bucket.rglob("*") if path.is_file()}
    assert _register(folder, "--plain") == 3
    said = capsys.readouterr().err
    assert said.startswith(f"LFJ39: {TO} holds another model, of {folder}/huggingface (step 4, parameters f00d): ")
    assert "UPDATE_ROLLBACK_FAILED" in said
    assert {path: path.read_bytes() for path in programs.bucket.rglob("*") if path.is_file()} == before
    assert _register(folder, "--plain", "--replace") == 0
    assert "is overwritten in place: running tasks keep the old model" in capsys.readouterr().out
    place = programs.bucket / "tiny"
    assert not (place / "model.pt").exists()
    assert (place / "model-00001-of-00002.safetensors").exists()


def test_foreign_files_count_as_another_model(folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]):
    put(programs.bucket, {"tiny/weights.bin": b"?", "tiny-other/config.json": b"{}"})
    assert _register(folder) == 3
    assert f"LFJ39: {TO} holds another model, that llm-fleet did not upload: weights.bin" in capsys.readouterr().err


def test_an_interrupted_upload_has_no_marker_and_continues(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BROKEN", "model-00002-of-00002.safetensors")
    assert _register(folder) == 3
    assert "LFJ33: `aws s3 cp --recursive" in capsys.readouterr().err
    assert (programs.bucket / "tiny" / "config.json").exists()
    assert not (programs.bucket / "tiny" / MARKER).exists()
    monkeypatch.delenv("BROKEN")
    assert _register(folder) == 0
    assert (programs.bucket / "tiny" / MARKER).exists()
    # A file that was lost since is uploaded again, without --replace.
    (programs.bucket / "tiny" / "config.json").unlink()
    assert _register(folder) == 0
    assert (programs.bucket / "tiny" / "config.json").exists()


@pytest.mark.parametrize("to", ["s3://models", "models/tiny", "s3://"])
def test_invalid_s3_addresses_are_rejected(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str], to: str
):
    assert _register(folder, to=to) == 3
    assert "LFJ32: " in capsys.readouterr().err


def test_a_model_that_the_service_would_reject_is_never_uploaded(
    folder: Path, programs: Programs, capsys: pytest.CaptureFixture[str]
):
    assert _export(folder) == 0
    assert _register(folder, *SERVED, "--batch-size", "8") == 3
    assert "LFJ38: " in (said := capsys.readouterr().err)
    assert "compiled for batches of 4, and the server requires 8" in said
    assert programs.aws == []
