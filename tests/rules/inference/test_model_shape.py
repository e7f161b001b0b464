"""How many weights a model has, counted from its config.json."""

from typing import Any

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.model_shapes import KnownModel, known_model
from llm_fleet.rules.codes import Code
from llm_fleet.spec.model_shape import known_shape, shape_of_config

TANUKI: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65024,
    "tie_word_embeddings": False,
}


NAMED: list[tuple[str, str]] = [
    (name, facts["repository"]) for facts in load("model_shapes")["models"] for name in facts["names"]
]
KNOWN = {model.repository: model for name, _ in NAMED if (model := known_model(name)) is not None}
COUNTED = [model for model in KNOWN.values() if model.parameters is not None]


@pytest.mark.parametrize("model", COUNTED, ids=lambda model: model.repository)
def test_the_count_is_the_hubs_own_to_the_last_weight(model: KnownModel):
    shape, problems = shape_of_config(model.config)
    assert problems == []
    assert shape is not None
    assert shape.parameters == model.parameters


@pytest.mark.parametrize(
    ("location", "parameters"),
    [
        ("s3://my-models/tanuki-8b", 7_512_264_704),
        ("weblab-GENIAC/Tanuki-8B-dpo-v1.0", 7_512_264_704),
        ("s3://b/models/Llama-2-7b-chat-hf/", 6_738_415_616),
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
        ("EleutherAI/gpt-j-6b", 6_050_882_784),
    ],
)
def test_a_model_is_known_by_the_end_of_its_place(location: str, parameters: int):
    shape = known_shape(location)
    assert shape is not None
    assert shape.parameters == parameters


@pytest.mark.parametrize("location", ["s3://tanuki-8b/ours", "s3://b/llama", "s3://b/-hf", ""])
def test_a_name_that_tells_nothing(location: str):
    assert known_shape(location) is None


def test_no_name_stands_for_two_models_and_each_finds_its_own():
    assert len(NAMED) == len(dict(NAMED)) >= 15
    for name, repository in NAMED:
        found = known_model(name)
        assert found is not None, name
        assert found.repository == repository, name


def test_heads_are_as_many_as_those_of_queries_where_nothing_is_said():
    shape, _ = shape_of_config({**TANUKI, "num_key_value_heads": None})
    assert shape is not None
    assert (shape.attention_heads, shape.kv_heads, shape.head_dim) == (32, 32, 128)


def test_tied_embeddings_count_once_and_biases_count():
    plain, tied = (shape_of_config({**TANUKI, "tie_word_embeddings": each})[0] for each in (False, True))
    assert plain is not None
    assert tied is not None
    assert plain.parameters - tied.parameters == 65024 * 4096
    biased, _ = shape_of_config({**TANUKI, "attention_bias": True})
    assert biased is not None
    assert biased.parameters - plain.parameters == 32 * (4096 + 2 * 1024 + 4096)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "mamba"}, "it is of a model_type, 'mamba'"),
        ({"model_type": None}, "it is of a model_type, None"),
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"vocab_size": "65024"}, "vocab_size is '65024', and no number above 0"),
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"num_attention_heads": True}, "num_attention_heads is True"),
        ({"quantization_config": {"quant_method": "awq"}}, "a quantized model"),
    ],
)
def test_a_config_that_does_not_tell(changed: dict[str, Any], message: str):
    shape, (problem,) = shape_of_config({**TANUKI, **changed})
    assert shape is None
    assert problem.code is Code.MODEL_CONFIG
    assert message in problem.message
    assert "numbers" in problem.remedy
