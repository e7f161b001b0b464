"""Creates a small Llama without weights. Runs on a node, in its training environment.

    python tiny_model.py MODEL_FOLDER CONFIG_FILE TEXT_FILE

`MODEL_FOLDER` gets the files that `download` requires of a model without weights: its config.json, and a tokenizer that
is trained on `TEXT_FILE`.
"""

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main(model: Path, config: Path, text: Path) -> None:
    """Write the model; the same input gives the same files."""
    tokenizers: Any = import_module("tokenizers")
    transformers: Any = import_module("transformers")
    begin, end = "<s>", "</s>"
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=json.loads(config.read_text(encoding="utf-8"))["vocab_size"],
        special_tokens=[begin, end],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(text.read_text(encoding="utf-8").splitlines(), trainer)
    model.mkdir(parents=True, exist_ok=True)
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end)
    whole.save_pretrained(model)
    shutil.copyfile(config, model / "config.json")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
