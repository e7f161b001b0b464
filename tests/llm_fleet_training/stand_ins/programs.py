"""`aws` and `optimum-cli` for a test: recorders on PATH, with a folder as bucket. They reject unknown arguments."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

_AWS = """#!{python}
import fnmatch, json, os, shutil, sys
words = sys.argv[1:]
root, log = {root!r}, {log!r}
open(log, "a").write(json.dumps(words) + chr(10))
broken = os.environ.get("BROKEN", "").split()
def fail(code, said):
    sys.stderr.write(said + chr(10))
    sys.exit(code)
def disk(address):
    if not address.startswith("s3://models/"):
        fail(254, "An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation: no such bucket")
    return os.path.join(root, address[len("s3://models/"):])
def copy(source, target):
    if os.path.basename(source) in broken:
        fail(1, "fatal error: An error occurred (403) when calling the HeadObject operation: Forbidden")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
if words[:2] == ["s3api", "list-objects-v2"]:
    if words[2] != "--bucket" or words[4] != "--prefix" or words[6:] != ["--output", "json"]:
        fail(252, "usage")
    disk("s3://" + words[3] + "/")
    found = []
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if key.startswith(words[5]):
                found.append({{"Key": key, "Size": os.path.getsize(path)}})
    if found:
        print(json.dumps({{"Contents": found}}))
elif words[:2] == ["s3", "rm"] and words[2] == "--only-show-errors" and len(words) == 4:
    if os.path.exists(disk(words[3])):
        os.unlink(disk(words[3]))
elif words[:3] == ["s3", "cp", "--only-show-errors"] and words[4:] == ["-"]:
    sys.stdout.buffer.write(open(disk(words[3]), "rb").read())
elif words[:4] == ["s3", "cp", "--no-progress", "--only-show-errors"] and len(words) == 6:
    source, target = words[4:]
    if source.startswith("s3://") == target.startswith("s3://"):
        fail(252, "usage")
    copy(*(disk(each) if each.startswith("s3://") else each for each in (source, target)))
elif words[:5] == ["s3", "cp", "--recursive", "--no-progress", "--only-show-errors"]:
    rest, left = words[5:], []
    while rest[:1] == ["--exclude"]:
        left.append(rest[1])
        rest = rest[2:]
    source, target = rest
    for folder, _, files in os.walk(source):
        for name in sorted(files):
            path = os.path.join(folder, name)
            key = os.path.relpath(path, source)
            if not any(fnmatch.fnmatch(key, each) for each in left):
                copy(path, os.path.join(disk(target), key))
else:
    fail(252, "unknown words: " + " ".join(words))
"""

_OPTIMUM = """#!{python}
import json, os, shutil, sys
words = sys.argv[1:]
open({log!r}, "w").write(json.dumps(words))
assert words[:3] == ["export", "neuron", "--model"], words
checkpoint, model, given = words[3], words[-1], dict(zip(words[4:-1:2], words[5:-1:2]))
known = {{"--task", "--batch_size", "--sequence_length", "--num_cores", "--auto_cast_type"}}
assert set(given) == known and given["--task"] == "text-generation", given
assert os.environ["HF_HUB_OFFLINE"] == "1"
if "fails" in os.environ.get("OPTIMUM", ""):
    sys.exit("no space left")
os.makedirs(os.path.join(model, "checkpoint", "weights"))
shutil.copy(os.path.join(checkpoint, "config.json"), model)
open(os.path.join(model, "model.pt"), "w").write("code")
cores = int(given["--num_cores"])
for rank in range(cores):
    open(os.path.join(model, "checkpoint", "weights", f"tp{{rank}}_sharded_checkpoint.safetensors"), "w").write("w")
made = {{
    "_serialized_key": "NxDNeuronConfig",
    "optimum_neuron_version": "0.3.0",
    "neuronxcc_version": os.environ.get("COMPILER", "2.19.8089.0") + "+8ab9f450",
    "target": "trn1",
    "tp_degree": cores,
    "batch_size": int(given["--batch_size"]),
    "sequence_length": int(given["--sequence_length"]),
    "torch_dtype": {{"bf16": "bfloat16"}}[given["--auto_cast_type"]],
}}
open(os.path.join(model, "neuron_config.json"), "w").write(json.dumps(made))
"""


class Programs:
    """The two on PATH; a bucket `models`, which is the folder `bucket`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bucket = folder / "bucket"
        self.bucket.mkdir(parents=True)
        self._aws_log, self._optimum_log = folder / "aws.log", folder / "optimum.log"
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._put("aws", _AWS.format(python=sys.executable, root=str(self.bucket), log=str(self._aws_log)))
        self._put("optimum-cli", _OPTIMUM.format(python=sys.executable, log=str(self._optimum_log)))
        monkeypatch.setenv("PATH", f"{self._bin}:{os.environ['PATH']}")

    def without(self, name: str) -> None:
        """Remove a program, as on a node without it."""
        (self._bin / name).unlink()

    @property
    def aws(self) -> list[list[str]]:
        """The arguments of every call so far."""
        return [json.loads(line) for line in self._aws_log.read_text().splitlines()] if self._aws_log.exists() else []

    @property
    def optimum(self) -> Any:
        """The arguments of the last call, or None."""
        return json.loads(self._optimum_log.read_text()) if self._optimum_log.exists() else None

    def _put(self, name: str, text: str) -> None:
        (self._bin / name).write_text(text)
        (self._bin / name).chmod(0o755)
