"""Settings of storage that ParallelCluster makes: what has an argument is not said a second time."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

STORAGE_ARGUMENTS: Mapping[str, str] = {
    "StorageCapacity": "capacity_gib",
    "PerUnitStorageThroughput": "throughput_mb_s_per_tib",
    "DeploymentType": "deployment_type",
    "DataCompressionType": "compression",
    "Size": "size_gib",
    "VolumeType": "volume_type",
    "DeletionPolicy": "retain",
}
"""Keys of ParallelCluster and the arguments of `SharedStorage.managed_…` that stand for them.

EBS has a third `DeletionPolicy`, `Snapshot`: it is said by making a `SharedStorage` of all its settings.
"""


def check_storage_settings(settings: Mapping[str, Any]) -> list[Problem]:
    """Check that `settings` hold nothing that an argument stands for: one of the two would be passed over."""
    return [
        Problem(
            code=Code.PC_OVERRIDE_TYPED,
            message=f"{key} has an argument of its own",
            remedy=f"use {STORAGE_ARGUMENTS[key]}",
            path=("settings", key),
            value=value,
        )
        for key, value in settings.items()
        if key in STORAGE_ARGUMENTS
    ]
