"""What the presets of `Queue` fill in."""

from collections.abc import Sequence
from typing import Any, cast

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.parallelcluster.compute_resource import ComputeResource
from llm_fleet.parallelcluster.queue_options import BlockOptions, ResourceOptions

_SCRATCH = "/local_scratch"
_NVIDIA = "nvidia"


def preset_nodes(
    name: str, instance_types: Sequence[str], min_count: int, max_count: int, options: BlockOptions
) -> ComputeResource:
    """Return the one compute resource of a preset, called as its queue."""
    own = {key: value for key, value in options.items() if key in ResourceOptions.__annotations__}
    return ComputeResource(
        name=name,
        instance_types=instance_types,
        min_count=min_count,
        max_count=max_count,
        **cast("ResourceOptions", own),
    )


def preset_fields(options: BlockOptions, *instance_types: str, exclusive: bool | None = None) -> dict[str, Any]:
    """Return the fields of a preset's queue: what the user says, else what its instances ask for."""
    facts = [ec2_facts_of(name) for name in instance_types]
    filled: dict[str, Any] = {"exclusive": exclusive}
    if any(known is not None and known.instance_store_gb for known in facts):
        filled["scratch_mount_dir"] = _SCRATCH
    if facts and all(map(_has_nvidia, facts)):
        filled["gpu_health_check"] = True
    own = {key: value for key, value in options.items() if key not in ResourceOptions.__annotations__}
    return {**filled, **own}


def _has_nvidia(known: Ec2Instance | None) -> bool:
    return known is not None and known.gpu_maker == _NVIDIA
