"""The table of slices: a weight is the same after slicing and joining."""

# pyright: basic
from typing import Any

import pytest

from tests.llm_fleet_training.runs import TINY


def made(**changes: Any) -> Any:
    from llm_fleet_training.model.config import from_words

    return from_words({**TINY, **changes})


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_joined_slices_are_the_whole_weight(torch: Any, degree: int):
    from llm_fleet_training.model import sharding

    config = made()
    for name, shape in sharding.shapes(config).items():
        whole = torch.randn(shape)
        slices = [sharding.cut(name, whole, config, degree, rank) for rank in range(degree)]
        assert torch.equal(sharding.join(name, slices, config), whole), name
        assert sum(one.numel() for one in slices) == whole.numel() * sharding.copies(name, config, degree)


def test_fewer_heads_of_keys_than_ranks_are_held_by_consecutive_ranks():
    from llm_fleet_training.model import sharding

    name = "model.layers.0.self_attn.k_proj.weight"
    assert [sharding.span(name, made(), 4, rank) for rank in range(4)] == [(0, 8), (0, 8), (8, 8), (8, 8)]
    assert sharding.copies(name, made(), 4) == 2
    assert sharding.copies("model.norm.weight", made(), 4) == 4


@pytest.mark.parametrize(
    ("changes", "degree", "words"),
    [
        ({}, 3, "does not divide the model's 4 attention heads"),
        ({"vocab_size": 255}, 2, "does not divide the model's 255 vocabulary entries"),
        ({"intermediate_size": 63}, 2, "63 feed-forward columns"),
        ({"num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 8}, 2, "the model's 3 key-value heads"),
    ],
)
def test_models_that_cannot_be_sliced_are_reported(changes: dict[str, Any], degree: int, words: str):
    from llm_fleet_training.model.sharding import misfits

    assert any(words in one for one in misfits(made(**changes), degree))
    assert misfits(made(), 4) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mistral"}, "model_type 'mistral'"),
        ({"attention_bias": True}, "attention_bias is true"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope type 'yarn'"),
        ({"hidden_size": "wide"}, "invalid literal"),
        ({"num_key_value_heads": 3}, "4 heads cannot share 3"),
        ({"vocab_size": None}, "config.json"),
    ],
)
def test_other_models_are_rejected(changes: dict[str, Any], words: str):
    from llm_fleet_training.failures import Failure

    with pytest.raises(Failure, match=words) as refused:
        made(**changes)
    assert refused.value.code.code == "LFJ03"
