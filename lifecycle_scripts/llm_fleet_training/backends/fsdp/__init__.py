"""Torch's fully sharded data parallelism (FSDP2), with replicas of shards where a shard degree is given (HSDP)."""

from __future__ import annotations

import sys

from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def make(settings: Settings, config: ModelConfig) -> Backend:
    """Return a backend that is not started."""
    try:
        from llm_fleet_training.backends.fsdp.backend import FsdpBackend
    except ModuleNotFoundError:
        raise
    except ImportError as error:  # `fully_shard` and `distribute_tensor` are in these modules since PyTorch 2.6.
        fail(
            Code.PYTHON_PACKAGE,
            f"the PyTorch of {sys.executable} has no FSDP2, which needs PyTorch 2.7 or newer: {error}",
            shared=True,
        )
    return FsdpBackend(settings, config)
