"""The training program does not reject a run that passes synthesis, on nodes that cost money.

The program has its own rules, because llm-fleet is not installed on nodes and users edit batch files. The rules of both
must agree.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from llm_fleet.catalog.training_environments import backends
from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.jobs.settings import run_settings, stage_settings
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend
from llm_fleet.spec.model_shape import TrainedShape
from tests.rules.training.run.runs import partition, run
from tools.synth_environment import ROOT

if (SCRIPTS := str(ROOT / "lifecycle_scripts")) not in sys.path:
    sys.path.insert(0, SCRIPTS)

from llm_fleet_training.backends import choose
from llm_fleet_training.backends.smp import configuration as smp_program
from llm_fleet_training.failures import Failure
from llm_fleet_training.model.config import read
from llm_fleet_training.settings import Settings
from llm_fleet_training.training import preflight

SHAPE = TrainedShape(
    parameters=23_000_000,
    layers=12,
    attention_heads=12,
    kv_heads=6,
    head_dim=32,
    hidden=384,
    intermediate=1008,
    vocabulary=4032,
    max_sequence=1024,
)
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 6,
    "hidden_size": 384,
    "head_dim": 32,
    "intermediate_size": 1008,
    "vocab_size": 4032,
    "max_position_embeddings": 1024,
}
INSTANCES = {
    Backend.CPU: "ml.m5.4xlarge",
    Backend.FSDP: "ml.p5.48xlarge",
    Backend.SMP: "ml.p5.48xlarge",
    Backend.NEURON: "ml.trn1.32xlarge",
}
CHOICES: dict[str, tuple[Any, ...]] = {
    "tensor_parallel": (None, None, 1, 2, 3, 4, 8),
    "pipeline_parallel": (None, None, None, None, 2),
    "context_parallel": (None, None, None, 2, 3),
    "shard_degree": (None, None, 2, 3, 4, 16),
    "global_batch": (None, None, None, 24, 250),
    "sequence_length": (None, None, 512, 510, 514, 2048),
    "activation_checkpointing": (None, None, None, ActivationCheckpointing.SELECTIVE, ActivationCheckpointing.NONE),
}
STRICTER = {"LF856", "LF868"}
"""Memory, and whether tensor parallelism fits a node and the rings of its hardware: the program does not check them."""


def drawn(backend: Backend) -> Iterator[dict[str, Any]]:
    """Random runs, most of them with one or two errors; the same ones in each test run."""
    dice = Random(backend.value)
    for _ in range(140):
        drawn_values = {name: dice.choice(values) for name, values in CHOICES.items()}
        yield {name: value for name, value in drawn_values.items() if value is not None} | {
            "backend": backend,
            "nodes": dice.choice((1, 2, 3)),
        }


@pytest.mark.parametrize("backend", INSTANCES)
def test_the_program_accepts_what_synth_accepts(backend: Backend, tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    taken = 0
    for values in drawn(backend):
        try:
            made = run(**values, model="/fsx/x", shape=SHAPE, partition=partition(INSTANCES[backend], 4), steps=10)
        except FleetError:
            continue
        taken += 1
        settings = as_settings(made, tmp_path)
        assert rejections(settings, made.plan.world) == [], values
    assert taken > 5, "too few of them are right for this to prove anything"


@pytest.mark.parametrize("backend", [Backend.CPU, Backend.FSDP])
def test_the_program_rejects_what_synth_rejects(backend: Backend, tmp_path: Path):
    """An edited batch file was not checked during synthesis."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    place = partition(INSTANCES[backend], 4)
    for choices in drawn(backend):
        try:
            run(**choices, model="/fsx/x", shape=SHAPE, partition=place, steps=10)
        except FleetError as error:
            codes = {problem.code.value for problem in error.problems}
            if codes & STRICTER:
                continue
            degrees = {name: value for name, value in choices.items() if isinstance(value, int) and name != "nodes"}
            good = run(backend=backend, nodes=choices["nodes"], model="/fsx/x", shape=SHAPE, partition=place, steps=10)
            settings = as_settings(good, tmp_path, **degrees)
            assert rejections(settings, good.plan.world), (choices, codes)


def test_the_program_has_the_degrees_of_the_catalog():
    for backend, known in preflight.KNOWN.items():
        assert set(known) == set(backends()[Backend(backend)].degrees)


def test_the_program_has_the_smp_keys_of_the_catalog():
    assert {*smp_program.OF_RUN, *smp_program.OWN} == set(smp_keys())
    for name, kind in smp_program.OWN.items():
        assert smp_keys()[name].type == {bool: "boolean", int: "integer"}[kind], name


def as_settings(made: Any, folder: Path, **changes: Any) -> Settings:
    """Return the settings of the batch file; only graphs are compiled, so that no tokens are needed."""
    texts = {name.lower(): text for name, text in {**run_settings(made), **stage_settings(made, "train")}.items()}
    names = ("sequence_length", "global_batch", "micro_batch", "steps", "warmup_steps", "tensor_parallel")
    names += ("pipeline_parallel", "context_parallel", "shard_degree", "checkpoint_every", "checkpoints_kept")
    values: dict[str, Any] = {name: int(texts[name]) for name in names} | changes
    values |= {name: texts[name] for name in ("backend", "activation_checkpointing")}
    return Settings(run_folder=folder, model=folder, compile_only=1, **values)


def rejections(settings: Settings, world: int) -> list[Failure]:
    """Errors of the program before its processes begin, and of its backend before it needs the vendor's libraries."""
    found = preflight.problems(settings, world)
    assert settings.backend in choose.names()
    try:
        import_module(f"llm_fleet_training.backends.{settings.backend}").make(settings, read(settings.model))
    except Failure as failure:
        found.append(failure)
    except ImportError:
        pass  # PyTorch or the vendor's library is not installed; all checks have run
    return found
