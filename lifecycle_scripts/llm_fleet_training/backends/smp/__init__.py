"""The SageMaker model parallel library v2 (SMP) over PyTorch's FSDP, with transformers' LlamaForCausalLM."""

from __future__ import annotations

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def make(settings: Settings, config: ModelConfig) -> Backend:
    """Return a backend that is not started. LFJ04, LFJ07, LFJ09 or LFJ23 for unsupported settings."""
    from llm_fleet_training.backends.smp.configuration import configuration

    if settings.pipeline_parallel != 1:
        fail(
            Code.DEGREES,
            f"pipeline parallel {settings.pipeline_parallel}: SMP v2 has no pipeline parallelism",
            shared=True,
        )
    if settings.activation_checkpointing == "selective":
        fail(
            Code.BACKEND,
            "the backend smp does not support activation checkpointing `selective`, only `none` and `full`",
            shared=True,
        )
    context, shard = settings.context_parallel, settings.shard_degree
    if context > 1 and (shard < context or shard % context):
        fail(
            Code.DEGREES,
            f"context parallel {context} does not divide shard degree {shard}, which SMP v2 requires",
            shared=True,
        )
    parts = 2 * settings.context_parallel
    if settings.context_parallel > 1 and settings.sequence_length % parts:
        fail(
            Code.SEQUENCE_LENGTH,
            f"sequence length {settings.sequence_length} is not divisible by {parts}, which context parallel needs",
            shared=True,
        )
    library = configuration(settings)
    from llm_fleet_training.backends.smp.backend import SmpBackend

    return SmpBackend(settings, config, library)
