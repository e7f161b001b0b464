"""Tokenizes one unit in a separate process. Imports only the tokenizer, for a fast start."""

from __future__ import annotations

import json
import os
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

from llm_fleet_training.tokenizing.documents import documents
from llm_fleet_training.tokenizing.tokenizer import load
from llm_fleet_training.tokenizing.units import Unit

TYPES = {"uint16": "H", "uint32": "I"}
_TOGETHER = 256
"""Documents per call of the tokenizer."""
_loaded: Dict[str, Any] = {}


@dataclass(frozen=True)
class Task:
    """One unit and the files for its tokens."""

    number: int
    unit: Unit
    field: str
    tokenizer: str
    eos: int
    dtype: str
    folder: str

    @property
    def tokens(self) -> Path:
        """The file of its tokens."""
        return Path(self.folder, f"unit-{self.number:06d}.bin")

    @property
    def said(self) -> Path:
        """The file that marks the tokens as complete."""
        return Path(self.folder, f"unit-{self.number:06d}.json")


def result_of(task: Task) -> Optional[Dict[str, int]]:
    """Tokens and documents of a unit that an earlier run has finished, or None."""
    try:
        said: Dict[str, int] = json.loads(task.said.read_text())
        whole = task.tokens.stat().st_size == said["tokens"] * array(TYPES[task.dtype]).itemsize
    except (OSError, ValueError, KeyError):
        return None
    return said if whole else None


def tokenize_unit(task: Task) -> Dict[str, int]:
    """Write the tokens of a unit; returns the numbers of tokens and documents. Raises `BrokenData`."""
    # The processes use all cores; threads of the tokenizer would compete with them.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if task.tokenizer not in _loaded:
        _loaded[task.tokenizer] = load(task.tokenizer)
    draft = task.tokens.with_suffix(".part")
    counted = {"tokens": 0, "documents": 0}
    with open(draft, "wb") as opened:
        texts: List[str] = []
        for text in documents(task.unit, task.field):
            texts.append(text)
            if len(texts) == _TOGETHER:
                opened.write(_encoded(task, texts, counted))
                texts = []
        opened.write(_encoded(task, texts, counted))
    draft.replace(task.tokens)
    said = task.said.with_suffix(".said")
    said.write_text(json.dumps(counted))
    said.replace(task.said)
    return counted


def _encoded(task: Task, texts: List[str], counted: Dict[str, int]) -> bytes:
    found: "array[int]" = array(TYPES[task.dtype])
    # Without the token that begins a text: the one that ends a document separates documents.
    for encoding in _loaded[task.tokenizer].encode_batch(texts, add_special_tokens=False):
        found.extend(encoding.ids)
        found.append(task.eos)
    counted["tokens"] += len(found)
    counted["documents"] += len(texts)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()
