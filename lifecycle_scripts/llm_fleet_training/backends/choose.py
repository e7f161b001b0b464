"""Finds a backend by its name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import List

from llm_fleet_training import backends
from llm_fleet_training.backends.backend import Backend
from llm_fleet_training.failures import Code, fail
from llm_fleet_training.model.config import ModelConfig
from llm_fleet_training.settings import Settings


def names() -> List[str]:
    """Names of all backends: the folders next to this file."""
    return sorted(module.name for module in pkgutil.iter_modules(backends.__path__) if module.ispkg)


def choose(settings: Settings, config: ModelConfig) -> Backend:
    """The backend that the settings name, not started; LFJ04 for an unknown name."""
    if settings.backend not in names():
        fail(Code.BACKEND, f"backend `{settings.backend}` is unknown; allowed: {', '.join(names())}")
    return importlib.import_module(f"llm_fleet_training.backends.{settings.backend}").make(settings, config)
