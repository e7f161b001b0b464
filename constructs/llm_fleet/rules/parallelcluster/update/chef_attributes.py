"""What can be changed of `DevSettings/Cookbook/ExtraChefAttributes`, JSON inside of the YAML."""

import json
from collections.abc import Mapping
from typing import Any, cast

_CHANGEABLE = frozenset(
    {
        "cluster.slurm.reconfigure_timeout",
        "cluster.cluster_readiness_check_enabled",
        "cluster.cluster_readiness_check_ignore_failure",
    }
)
"""From `EXTRA_CHEF_ATTRIBUTES_UPDATABLE_PATHS` of aws-parallelcluster 3.16.1, config/update_policy.py."""


def fixed_attributes(text: Any) -> dict[str, Any]:
    """Return the attributes that no update changes, by their dotted paths; text that is no JSON has none."""
    try:
        attributes = json.loads(text)
    except (TypeError, ValueError):
        return {}
    leaves = _leaves(cast("Any", attributes), "") if isinstance(attributes, Mapping) else {}
    return {path: value for path, value in leaves.items() if path not in _CHANGEABLE}


def _leaves(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, Mapping) and value:
            found |= _leaves(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def changed_fixed_attributes(old: Any, new: Any) -> set[str]:
    """Return the dotted paths of the attributes that differ and that no update changes."""
    before, after = fixed_attributes(old), fixed_attributes(new)
    return {path for path in {*before, *after} if before.get(path, _ABSENT) != after.get(path, _ABSENT)}


_ABSENT = object()
