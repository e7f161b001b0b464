"""A run of the tiny model in a folder of its own, started as often as a test likes."""

import copy
import hashlib
import json
import random
import socket
import subprocess
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".tools/training/bin/python"

TINY: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "tie_word_embeddings": False,
}
"""A Llama of 34,976 parameters."""


def write_model(folder: Path, **changes: Any) -> Path:
    """A folder with the tiny model's config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**TINY, **changes}))
    return folder


def write_tokens(folder: Path, *, count: int = 5000, vocabulary: int = 256) -> Path:
    """Tokens with a pattern to learn, as written by `tokenize`."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(1)
    words = array("H", [(n * 7 + drawn.randrange(5)) % vocabulary for n in range(count)]).tobytes()
    (folder / "tokens.bin").write_bytes(words)
    record = {
        "format": 1, "file": "tokens.bin", "dtype": "uint16", "tokens": count, "bytes": len(words),
        "vocabulary": vocabulary, "sha256": hashlib.sha256(words).hexdigest(), "tokenizer": "f00d",
    }  # fmt: skip
    (folder / "tokens.json").write_text(json.dumps(record))
    return folder


@dataclass
class Ended:
    """The result of a start: each process's exit code (negative: killed by a signal), and the output of all."""

    codes: list[int]
    said: str


class Starter:
    """A process that has imported PyTorch and forks for each start."""

    path: "tuple[str, ...]" = ()
    """Folders of modules that only its starts see, first."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process = subprocess.Popen(
            [str(PYTHON), str(Path(__file__).parent / "starter.py"), str(ROOT / "lifecycle_scripts")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def start(self, arguments: list[str], *, processes: int = 1, **more: Any) -> Ended:
        """Run `python -m llm_fleet_training arguments` in this number of processes."""
        assert self._process.stdin
        assert self._process.stdout
        self._log.write_text("")
        request = {"arguments": arguments, "processes": processes, "log": str(self._log), "port": free_port(), **more}
        request["path"] = self.path
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Ended(json.loads(self._process.stdout.readline()), self._log.read_text())

    def seeing(self, *path: str) -> "Starter":
        """The same process, with a longer import path for its starts."""
        other = copy.copy(self)
        other.path = path
        return other

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)  # A busy machine takes its time to unload PyTorch.


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@dataclass
class Run:
    """A run's folder, and the options that all of its starts share."""

    folder: Path
    starter: Starter
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self, verb: str, **changes: Any) -> list[str]:
        """Command-line options; an option with None is omitted."""
        basic: dict[str, Any] = {
            "run_folder": self.folder, "model": self.folder / "model", "backend": "cpu", "sequence_length": 16,
            "global_batch": 4, "micro_batch": 2, "steps": 6, "learning_rate": 0.01, "checkpoint_every": 2,
        }  # fmt: skip
        chosen = {**basic, **self.options, **changes}
        return [verb, *(w for k, v in chosen.items() if v is not None for w in (f"--{k.replace('_', '-')}", str(v)))]

    def train(self, *, processes: int = 1, more: "dict[str, Any] | None" = None, **changes: Any) -> Ended:
        """One start."""
        return self.starter.start(self.arguments("train", **changes), processes=processes, **(more or {}))

    @property
    def checkpoints(self) -> Path:
        """Where they are."""
        return self.folder / "checkpoints"

    @property
    def result(self) -> dict[str, Any]:
        """The content of `result.json`."""
        return json.loads((self.folder / "result.json").read_text())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Of metrics.jsonl."""
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def steps(self) -> list[int]:
        """Of the folders that are named like checkpoints."""
        return sorted(int(place.name[5:]) for place in self.checkpoints.glob("step_*"))
