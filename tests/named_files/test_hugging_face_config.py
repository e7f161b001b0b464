"""A model's config.json on this machine."""

import json
from pathlib import Path

import pytest

from llm_fleet.catalog.model_shapes import known_model
from llm_fleet.named_files.hugging_face_config import read_shape
from llm_fleet.rules.codes import Code


def test_the_shape_is_read(tmp_path: Path):
    known = known_model("Llama-2-7b")
    assert known is not None
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": ["LlamaForCausalLM"], **known.config}))
    shape, problems = read_shape(path)
    assert problems == []
    assert shape is not None
    assert shape.parameters == 6_738_415_616


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file"),
        ("{", "Expecting property name"),
        ("[]", "it holds no JSON object"),
        (b"\xff\xfe", "codec can't decode"),
        ('"' + "x" * 1024 * 1024 + '"', "more than 1,048,576 bytes"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str | bytes | None, reason: str):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    shape, (problem,) = read_shape(path)
    assert shape is None
    assert (problem.code, problem.value) == (Code.MODEL_CONFIG, str(path))
    assert reason in problem.message


def test_a_folder_is_no_file(tmp_path: Path):
    _, (problem,) = read_shape(tmp_path)
    assert "Is a directory" in problem.message
