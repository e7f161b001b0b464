"""The input of the provider's function, and its own checks."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from llm_fleet_local.aws.resource_provider import Request
from llm_fleet_local.aws.resources.strings import as_strings

_OWN = frozenset({"ServiceToken", "DeletionPolicy"})
_BOTH = frozenset(
    {"cluster_name", "cluster_configuration", "region", "suppress_validators", "validation_failure_level"}
)
KEYWORDS = {
    "create": _BOTH | {"dryrun", "rollback_on_failure", "wait", "query", "debug"},
    "update": _BOTH | {"dryrun", "force_update", "wait", "query", "debug"},
}
_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9-]+$")
_TAG = {"Key": "parallelcluster:custom_resource", "Value": "cluster"}


class Rejected(Exception):
    """The function responds FAILED, with this reason."""


class HandedOver:
    """The properties of a cluster as strings: CloudFormation passes numbers and booleans as strings."""

    def __init__(self, request: Request, operation: str) -> None:
        """Read a request. Raises `Rejected` if it has no cluster.

        Source: document https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cloudformation/custom_resource/cluster.yaml
        (2026-11)
        Source: code of ParallelCluster 3.16.1, pcluster/api/controllers/cluster_operations_controller.py,
        "configuration is required and cannot be empty"
        """
        properties = cast("dict[str, Any]", as_strings(request.properties))
        self.retained = properties.get("DeletionPolicy", "Delete") == "Retain"
        if properties.get("DeletionPolicy", "Delete") not in ("Retain", "Delete"):
            raise Rejected('DeletionPolicy must be one of ["Retain", "Delete"].')
        if "ClusterName" not in properties:
            raise Rejected("Couldn't find a ClusterName in the properties.")
        self.name = str(properties["ClusterName"])
        _reject_unknown(properties, operation)
        self.rolls_back = properties.get("RollbackOnFailure", "true") != "false"
        self.suppressed = properties.get("SuppressValidators", [])
        self.failure_level = str(properties.get("ValidationFailureLevel", "ERROR"))
        given = properties.get("ClusterConfiguration")
        if not isinstance(given, dict) or not given:
            raise Rejected("configuration is required and cannot be empty")
        self.configuration = _with_tags(cast("dict[str, Any]", given), request.tags)


def check_new_name(name: str) -> None:
    """Reject a name that does not match the pattern of clusterName; a validator checks its length.

    Source: document https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cli/src/pcluster/api/openapi/openapi.yaml
    (2026-11)
    """
    if not _NAME.match(name):
        raise Rejected(f"Bad Request: '{name}' does not match '{_NAME.pattern}' - 'clusterName'")


def _reject_unknown(properties: Mapping[str, Any], operation: str) -> None:
    """Reject properties that are not arguments of the pcluster operation that the function calls.

    Source: code of ParallelCluster 3.16.1, pcluster/lib/lib.py, `make_func`
    """
    names = {_snake_case(name): name for name in properties if name not in _OWN}
    unexpected = sorted(set(names) - KEYWORDS[operation])
    if unexpected:
        raise Rejected(f"<{operation}-cluster> got unexpected arguments: {set(unexpected)}")


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _with_tags(configuration: dict[str, Any], stack_tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration with the stack's tags added before its own, as the function does."""
    changed = deepcopy(configuration)
    own: list[dict[str, str]] = changed.get("Tags", [])
    overridden = {tag["Key"] for tag in own}
    inherited = [
        {"Key": key, "Value": value}
        for key, value in stack_tags.items()
        if not key.startswith("aws:") and key not in overridden
    ]
    changed["Tags"] = [*inherited, *own, _TAG]
    return changed
