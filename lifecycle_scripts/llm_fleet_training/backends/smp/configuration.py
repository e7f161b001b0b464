"""Parameters of `torch.sagemaker.init`: degrees from the run's settings, the rest from its `smp_config.json`.

Keys: SageMaker AI Developer Guide, distributed-model-parallel-v2-reference. Needs no torch.
"""

from __future__ import annotations

import json
from typing import Any, Dict, cast

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.settings import Settings

OF_RUN = {
    "hybrid_shard_degree": "shard_degree",
    "tensor_parallel_degree": "tensor_parallel",
    "context_parallel_degree": "context_parallel",
}
"""Keys of the library, and the setting with the same meaning."""
OWN = {
    "sm_activation_offloading": bool,
    "activation_loading_horizon": int,
    "fsdp_cache_flush_warnings": bool,
    "allow_empty_shards": bool,
    "expert_parallel_degree": int,
    "random_seed": int,
}
"""Keys without a setting, and their types."""


def configuration(settings: Settings) -> Dict[str, Any]:
    """LFJ23 for a file that cannot be read, has other keys, or contradicts a degree of the settings."""
    given = _read(settings)
    wrong = [_wrong(name, value, settings) for name, value in given.items()]
    found = [line for line in wrong if line]
    if given.get("sm_activation_offloading") is True and settings.activation_checkpointing == "none":
        found.append("sm_activation_offloading is true, but has no effect: activation checkpointing is none")
    if found:
        fail(Code.SMP_CONFIG, f"{settings.smp_config}: {'; '.join(found)}", shared=True)
    of_run = {name: getattr(settings, setting) for name, setting in OF_RUN.items()}
    own = {name: value for name, value in given.items() if name in OWN}
    return {"random_seed": settings.seed, **own, **of_run}


def _read(settings: Settings) -> Dict[str, Any]:
    if settings.smp_config is None:
        return {}
    try:
        words = json.loads(settings.smp_config.read_text())
    except (OSError, ValueError) as error:
        fail(Code.SMP_CONFIG, f"{settings.smp_config} cannot be read: {error}")
    if not isinstance(words, dict):
        fail(Code.SMP_CONFIG, f"{settings.smp_config} is not a JSON object")
    given = cast(Dict[str, Any], words)
    if "tensor_parallel_seed" in given:
        given.setdefault("random_seed", given.pop("tensor_parallel_seed"))
    return given


def _wrong(name: str, value: Any, settings: Settings) -> str:
    """What is wrong with a key's value; empty when it is valid."""
    if name == "hybrid_shard_degree" and value == 0:
        return ""
    if name in OF_RUN:
        mine = getattr(settings, OF_RUN[name])
        return "" if value == mine else f"{name} is {value!r}, but the run's {OF_RUN[name]} is {mine}"
    if name not in OWN:
        return f"{name} is not a key of SMP v2"
    if type(value) is not OWN[name]:
        return f"{name} is {value!r}, which is not {'a number' if OWN[name] is int else 'true or false'}"
    if name == "activation_loading_horizon" and value < 1:
        return f"{name} is {value}, and must be 1 or more"
    if name == "expert_parallel_degree" and value != 1:
        return f"{name} is {value}, but models trained here have no experts"
    return ""
