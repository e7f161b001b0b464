"""Loads the tokenizer of the model, from the folder that `download` wrote."""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional, cast

from llm_fleet_training.failures import Code, fail

FILE = "tokenizer.json"
_SENTENCEPIECE = "tokenizer.model"
_SETTINGS = "tokenizer_config.json"


@dataclass(frozen=True)
class TokenizerFacts:
    """A tokenizer and its properties."""

    file: str
    """Path of its `tokenizer.json`."""
    fingerprint: str
    """SHA-256 of `tokenizer.json`."""
    vocabulary: int
    """Number of ids; every id is less."""
    eos: int
    """The id that ends a document."""

    @property
    def dtype(self) -> str:
        """The smallest type that holds every id."""
        return "uint16" if self.vocabulary <= 1 << 16 else "uint32"


def load(file: str) -> Any:
    """Load a tokenizer with the library that transformers uses; does not import torch."""
    try:
        library: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        fail(Code.PYTHON_PACKAGE, f"tokenizers cannot be imported: {error}")
    try:
        found = library.Tokenizer.from_file(file)
    except Exception as error:
        fail(Code.TOKENIZER, f"{file} is not a tokenizer: {error}")
    found.no_truncation()
    found.no_padding()
    return found


def look(folder: Path, work: Path) -> TokenizerFacts:
    """Find the tokenizer in a model's folder, and compare it with the model; LFJ36 when it belongs to another model.

    A tokenizer with only a sentencepiece model is converted into `work`, which needs transformers.
    """
    if not folder.is_dir():
        fail(Code.TOKENIZER, f"{folder} does not exist: download the model first")
    file = folder / FILE if (folder / FILE).exists() else _converted(folder, work)
    tokenizer = load(str(file))
    ids = tokenizer.get_vocab(with_added_tokens=True)
    if not ids:
        fail(Code.TOKENIZER, f"{file} has an empty vocabulary")
    vocabulary = max(ids.values()) + 1
    config = _json(folder / "config.json")
    size = config.get("vocab_size")
    if isinstance(size, int) and vocabulary > size:
        fail(
            Code.TOKENIZER,
            f"{file} has ids up to {vocabulary - 1}, but the model in {folder} has a vocabulary of {size}",
        )
    eos = _eos(folder, config, tokenizer)
    return TokenizerFacts(str(file), hashlib.sha256(file.read_bytes()).hexdigest(), vocabulary, eos)


def _eos(folder: Path, config: Dict[str, Any], tokenizer: Any) -> int:
    for said in (_json(folder / _SETTINGS), _json(folder / "special_tokens_map.json")):
        token: Any = said.get("eos_token")
        word: Any = cast("Dict[str, Any]", token).get("content") if isinstance(token, dict) else token
        found: Optional[int] = tokenizer.token_to_id(word) if isinstance(word, str) else None
        if found is not None:
            return found
    ids: Any = config.get("eos_token_id")
    first: Any = cast("list[Any]", ids)[0] if isinstance(ids, list) and ids else cast("Any", ids)
    if isinstance(first, int) and tokenizer.id_to_token(first) is not None:
        return first
    fail(Code.TOKENIZER, f"neither {_SETTINGS} nor config.json of {folder} sets eos_token, the end of a document")


def _converted(folder: Path, work: Path) -> Path:
    if not (folder / _SENTENCEPIECE).exists():
        fail(Code.TOKENIZER, f"{folder} has neither {FILE} nor {_SENTENCEPIECE}")
    try:
        transformers: Any = importlib.import_module("transformers")
        found = transformers.AutoTokenizer.from_pretrained(str(folder), use_fast=True, local_files_only=True)
        found.backend_tokenizer.save(str(work / FILE))
    except Exception as error:  # From transformers or its dependencies: sentencepiece, protobuf.
        fail(Code.TOKENIZER, f"{folder / _SENTENCEPIECE} cannot be converted to a {FILE}: {str(error).splitlines()[0]}")
    return work / FILE


def _json(place: Path) -> Dict[str, Any]:
    try:
        said: Any = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("Dict[str, Any]", said) if isinstance(said, dict) else {}
