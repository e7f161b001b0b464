"""Write a model of random weights and a tokenizer of single bytes; run by the environment that has transformers.

`python tiny_model.py CONFIG FOLDER`: as `config.json` says it, e.g. examples/tiny-llama.json.
"""

import shutil
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

config, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True)
shutil.copy(config, folder / "config.json")
words = ["<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
tokenizer = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
template = "{% for one in messages %}{{ one['role'] }}: {{ one['content'] }}\n{% endfor %}assistant:"
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    bos_token="<s>",  # noqa: S106 - a word of the vocabulary
    eos_token="</s>",  # noqa: S106 - likewise
    chat_template=template,
).save_pretrained(folder)
torch.manual_seed(0)
AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
