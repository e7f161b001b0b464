"""`convert`: converts a checkpoint of any backend to a folder that `transformers` loads, written atomically."""

from __future__ import annotations

import argparse
import json
import math
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Generator, Optional

from llm_fleet_training.checkpoints.checkpoints import Checkpoints, Complete
from llm_fleet_training.converting.model_files import copy_small_files, write_config, write_generation_config
from llm_fleet_training.converting.reader import open_checkpoint
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig, read
from llm_fleet_training.model.hashing import ParametersHash
from llm_fleet_training.model.sharding import shapes
from llm_fleet_training.weights.model_folder import misses
from llm_fleet_training.weights.safetensors_file import WORDS, write_shards
from llm_fleet_training.weights.space import check_room, in_words, writing
from llm_fleet_training.weights.whole_folder import WholeFolder

SUMMARY = "turn a checkpoint into a folder of safetensors that transformers and model servers load"
MARKER = "convert.json"
_COPIES = 3
"""Copies of the largest weight in memory: its slices, the joined weight, and the joined weight in another type."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--run-folder", required=True, type=Path, help="run folder")
    parser.add_argument("--step", default="", help="step of the checkpoint; default: the newest complete one")
    parser.add_argument("--model", type=Path, help="folder with config and tokenizer; default: <run folder>/weights")
    parser.add_argument("--to", type=Path, help="default: <run folder>/huggingface")
    parser.add_argument(
        "--dtype", choices=sorted(WORDS), default="bfloat16", help="type of the weights; default: bfloat16"
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert, unless the folder is complete already; returns 0."""
    model: Path = arguments.model or arguments.run_folder / "weights"
    config = read(model)
    checkpoints = Checkpoints(arguments.run_folder / "checkpoints")
    found = _find(checkpoints, arguments.step)
    goal = WholeFolder(arguments.to or arguments.run_folder / "huggingface", marker=MARKER)
    wanted = {"format": 1, "step": found.step, "dtype": arguments.dtype, "written": found.record.written}
    there = goal.document()
    if there is not None and wanted.items() <= there.items():
        print(f"{goal.target} has step {found.step} already: parameters {there['parameters_sha256']}", flush=True)
        return 0
    with _held(checkpoints, found), goal.making() as part, writing(part):
        goal.clear()
        digest = _convert(found, config, model, part, arguments.dtype)
        _compare(arguments.run_folder, found, digest)
        lacking = misses(part, weights=True)
        if lacking:
            fail(Code.CONVERSION, f"{model} lacks files of a complete model: {'; '.join(lacking)}")
        source = {"backend": found.record.backend, "fingerprint": found.record.fingerprint}
        goal.finish({**wanted, **source, "parameters_sha256": digest})
    print(f"{goal.target} is complete: step {found.step}, {arguments.dtype}, parameters {digest}", flush=True)
    return 0


def _find(checkpoints: Checkpoints, step: str) -> Complete:
    if step and not step.isdigit():
        fail(Code.ARGUMENTS, f"--step {step!r} is not a number")
    if step:
        found = checkpoints.look(int(step))
        if isinstance(found, Complete):
            return found
        fail(Code.CONVERSION, f"{found.folder} is not a complete checkpoint: {found.why}")
    newest, passed = checkpoints.newest_complete()
    for each in passed:
        print(f"{each.folder.name} is skipped: {each.why}", flush=True)
    if newest is None:
        fail(Code.CONVERSION, f"there is no complete checkpoint in {checkpoints.folder}")
    return newest


def _convert(found: Complete, config: ModelConfig, model: Path, part: Path, dtype: str) -> str:
    """Write the folder; returns the digest of the trained parameters."""
    every = shapes(config)
    largest = max(math.prod(shape) for shape in every.values())
    size = config.parameters * WORDS[dtype][1]
    print(
        f"{found.folder.name} ({found.record.backend}): {config.parameters} parameters, {in_words(size)} as {dtype}; "
        f"needs about {in_words(largest * 4 * _COPIES)} of memory, whatever the size of the model",
        flush=True,
    )
    check_room(part, size, f"converting {found.folder.name}")
    reader = open_checkpoint(found, config)
    digest = ParametersHash()
    # In order of name, as the digest needs it: each is read once.
    write_shards(part, {name: every[name] for name in sorted(every)}, dtype, _digested(reader.weight, digest))
    copy_small_files(model, part)
    write_config(model, part, dtype)
    write_generation_config(part)
    return digest.hexdigest()


def _digested(weight: Callable[[str], Any], digest: ParametersHash) -> Callable[[str], Any]:
    def read_one(name: str) -> Any:
        whole = weight(name)
        digest.add(name, whole)
        return whole

    return read_one


def _compare(run_folder: Path, found: Complete, digest: str) -> None:
    """Compare with the digest that the trainer wrote for its last step."""
    result = _result(run_folder)
    if result is None or result.get("steps") != found.step or result.get("fingerprint") != found.record.fingerprint:
        print(f"result.json has no digest of step {found.step}: nothing to compare with", flush=True)
    elif result.get("parameters_sha256") != digest:
        fail(
            Code.CONVERSION,
            f"parameters of {found.folder.name} are {digest}, but {run_folder / 'result.json'} has "
            f"{result.get('parameters_sha256')}",
        )
    else:
        print("parameters match result.json of the training", flush=True)


def _result(run_folder: Path) -> Optional[Dict[str, Any]]:
    try:
        return json.loads((run_folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


@contextmanager
def _held(checkpoints: Checkpoints, found: Complete) -> Generator[None, None, None]:
    """Keep the checkpoint from being pruned by a run that is still training."""
    marker = checkpoints.hold(found.step)
    try:
        yield
    finally:
        marker.unlink(missing_ok=True)
