"""A very small Llama: config, a tokenizer trained here, and weights drawn from a seed."""

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.llm_fleet_training.conftest import TINY

VOCABULARY = 320
CONFIG = {**TINY, "vocab_size": VOCABULARY, "eos_token_id": 1, "bos_token_id": 0}
TEXT = [
    "It was the best of times, it was the worst of times.",
    "In the beginning the nodes came up, one after the other.",
    "すべての道はクラスタに通ず。",
    "A truncated checkpoint is skipped.",
]
_FLAGS = ("lstrip", "normalized", "rstrip", "single_word")
_GENERATION = {"bos_token_id": 0, "eos_token_id": 1, "max_length": 64}


@cache
def tokenizer_files(vocabulary: int = VOCABULARY) -> dict[str, bytes]:
    """The files of a fast tokenizer."""
    tokenizers: Any = import_module("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXT, trainer)
    # Like Llama's: a text begins with a special token.
    made.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": {"__type": "AddedToken", "content": "</s>", **dict.fromkeys(_FLAGS, False)},
        "model_max_length": 64,
    }
    return {"tokenizer.json": made.to_str().encode(), "tokenizer_config.json": json.dumps(settings).encode()}


def weights(config: dict[str, Any] = CONFIG, *, seed: int = 7) -> dict[str, Any]:
    """Weights with the correct shapes, by name."""
    torch: Any = import_module("torch")
    shapes = import_module("llm_fleet_training.model.sharding").shapes
    from_words = import_module("llm_fleet_training.model.config").from_words
    torch.manual_seed(seed)
    return {name: torch.randn(*shape) * 0.1 for name, shape in shapes(from_words(config)).items()}


@cache
def model_files(*, seed: int = 7) -> dict[str, bytes]:
    """A repository: two files of weights with index, config, tokenizer, license, and files that are not needed."""
    save = import_module("safetensors.torch").save
    held = weights(seed=seed)
    names = list(held)
    halves = {"model-00001-of-00002.safetensors": names[:9], "model-00002-of-00002.safetensors": names[9:]}
    index = {"metadata": {}, "weight_map": {name: file for file, part in halves.items() for name in part}}
    return {
        "config.json": json.dumps(CONFIG).encode(),
        "generation_config.json": json.dumps(_GENERATION).encode(),
        "LICENSE.txt": b"Use it for good.",
        "README.md": b"# Tiny",
        ".gitattributes": b"*.safetensors filter=lfs",
        "original/consolidated.00.pth": b"p" * 2000,
        "pytorch_model.bin": b"b" * 2000,
        "model.safetensors.index.json": json.dumps(index).encode(),
        **tokenizer_files(),
        **{file: save({name: held[name] for name in part}, {"format": "pt"}) for file, part in halves.items()},
    }


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files; returns the folder."""
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder
