"""Checks a start before processes exist, and reports all errors together. Needs no torch."""

from __future__ import annotations

import shutil
from typing import Callable, List

from llm_fleet_training import degrees
from llm_fleet_training.backends import choose
from llm_fleet_training.checkpoints.checkpoints import Checkpoints
from llm_fleet_training.failures import Code, Failure
from llm_fleet_training.model import sharding
from llm_fleet_training.model.config import ModelConfig, read
from llm_fleet_training.samples.tokens import read_record, samples_of
from llm_fleet_training.settings import Settings
from llm_fleet_training.training.belonging import belongs
from llm_fleet_training.training.folder import writable
from llm_fleet_training.training.numbers import wrong_numbers


def problems(settings: Settings, world: int) -> List[Failure]:
    """Errors of a start with `world` processes; empty when there are none."""
    found = [*wrong_numbers(settings, world), *_backend(settings)]
    if world > 0:
        found += [*_degrees(settings, world), *_batch(settings, world)]
    found += [*_folder(settings), *_mirror(settings)]
    config = _model(settings, found)
    if config is not None:
        found += _slices(settings, config)
        if settings.compile_only is None and world > 0:
            found += _tokens(settings, config)
            found += _caught(lambda: _newest(settings, config, world))
    return found


def _caught(look: Callable[[], object]) -> List[Failure]:
    try:
        look()
    except Failure as failure:
        return [failure]
    return []


def _model(settings: Settings, found: List[Failure]) -> "ModelConfig | None":
    try:
        return read(settings.model)
    except Failure as failure:
        found.append(failure)
        return None


def _backend(settings: Settings) -> List[Failure]:
    if settings.backend in choose.names():
        return []
    known = ", ".join(choose.names())
    return [Failure(Code.BACKEND, f"backend `{settings.backend}` is unknown; allowed: {known}")]


def _degrees(settings: Settings, world: int) -> List[Failure]:
    found = degrees.misfits(
        world=world,
        tensor=settings.tensor_parallel,
        pipeline=settings.pipeline_parallel,
        context=settings.context_parallel,
        shard=settings.shard_degree,
    )
    for name in ("tensor_parallel", "pipeline_parallel", "context_parallel", "shard_degree"):
        value, allowed = getattr(settings, name), KNOWN.get(settings.backend)
        if allowed is not None and value > 1 and name not in allowed:
            found.append(f"backend `{settings.backend}` has no {name.replace('_', ' ')}, but it is set to {value}")
    return [Failure(Code.DEGREES, cause) for cause in found]


KNOWN = {"cpu": ("tensor_parallel",), "fsdp": ("shard_degree",)}
"""Degrees above 1 that each backend supports; backends not listed here check them in their code."""


def _batch(settings: Settings, world: int) -> List[Failure]:
    product = settings.tensor_parallel * settings.pipeline_parallel * settings.context_parallel
    if product < 1 or world % product or settings.micro_batch < 1:
        return []
    replicas = world // product
    if settings.global_batch % (settings.micro_batch * replicas):
        return [
            Failure(
                Code.BATCH,
                f"global batch {settings.global_batch} must be a multiple of micro batch {settings.micro_batch} x "
                f"data degree {replicas}",
            )
        ]
    return []


def _slices(settings: Settings, config: ModelConfig) -> List[Failure]:
    found = [Failure(Code.DEGREES, cause) for cause in sharding.misfits(config, max(1, settings.tensor_parallel))]
    if settings.sequence_length > config.positions:
        found.append(
            Failure(
                Code.SEQUENCE_LENGTH,
                f"sequence length {settings.sequence_length} is above the model's {config.positions} positions",
            )
        )
    return found


def _tokens(settings: Settings, config: ModelConfig) -> List[Failure]:
    try:
        record = read_record(settings.tokens)
    except Failure as failure:
        return [failure]
    found: List[Failure] = []
    if record.vocabulary > config.vocabulary:
        found.append(
            Failure(
                Code.TOKENS,
                f"{settings.tokens} has ids of a vocabulary of {record.vocabulary}; the model's vocabulary has "
                f"{config.vocabulary}",
            )
        )
    if settings.sequence_length > 0 and samples_of(record, settings.sequence_length) < 1:
        found.append(
            Failure(
                Code.SEQUENCE_LENGTH, f"{record.count} tokens are too few for one sample of {settings.sequence_length}"
            )
        )
    return found


def _folder(settings: Settings) -> List[Failure]:
    if settings.compile_only is not None:
        return []
    return _caught(lambda: writable(settings.run_folder))


def _mirror(settings: Settings) -> List[Failure]:
    """Without this check, the error appears only in a log line after the first checkpoint, and training continues."""
    if not settings.mirror or settings.compile_only is not None or shutil.which("aws") is not None:
        return []
    return [
        Failure(
            Code.MIRROR,
            f"`aws` is missing, which copies checkpoints to {settings.mirror}: it is neither in the "
            "container image, if a container is used, nor is version 2 of it on the node",
        )
    ]


def _newest(settings: Settings, config: ModelConfig, world: int) -> None:
    """Check that the newest complete checkpoint belongs to this run; when there is none, look for damaged ones."""
    checkpoints = Checkpoints(settings.checkpoints)
    newest, passed = checkpoints.newest_complete()
    if newest is not None:
        product = max(1, settings.tensor_parallel * settings.pipeline_parallel * settings.context_parallel)
        if world % product == 0:
            belongs(newest, settings, config, world)
    elif passed:
        raise broken(checkpoints, [f"{one.folder.name}: {one.why}" for one in passed])


def broken(checkpoints: Checkpoints, why: List[str]) -> Failure:
    """The failure when no checkpoint is usable: a start from step 0 would lose the run."""
    return Failure(
        Code.DAMAGED_CHECKPOINTS, f"no checkpoint in {checkpoints.folder} can be used: {'; '.join(why)}", shared=True
    )
