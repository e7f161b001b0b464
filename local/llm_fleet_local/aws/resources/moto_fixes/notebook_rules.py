"""Notebook instances that their API model allows and SageMaker rejects."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from llm_fleet_local.aws.resources.moto_fixes.cluster_context import role_problems
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_ENDED = ("notebook-al1-", "notebook-al2-")
_NOT_ON_AL2023 = ("ml.p2.", "ml.p3.", "ml.p3dn.", "ml.inf1.")


def instance_problems(requested: dict[str, Any], account: str, region: str) -> list[str]:
    """Return the errors of a new or changed instance."""
    return [
        *role_problems(requested["RoleArn"], account),
        *_platform(requested),
        *_network(requested, account, region),
    ]


def script_problems(requested: dict[str, Any]) -> list[str]:
    """Return the errors of a lifecycle configuration, whose content must be base64.

    Source: model botocore sagemaker NotebookInstanceLifecycleHook (Content)
    Source: assumption service-error-texts
    """
    errors: list[str] = []
    for hook in (*requested.get("OnCreate", ()), *requested.get("OnStart", ())):
        try:
            base64.b64decode(hook.get("Content", ""), validate=True)
        except binascii.Error as error:
            errors.append(f"the content of a lifecycle script is not base64: {error}")
    return errors


def _platform(requested: dict[str, Any]) -> Iterator[str]:
    """Return an error if the platform is retired or does not support the instance type.

    Source: recorded orcasecurity-research/AIGoat#10, notebook-al2-v1 is rejected (2025-08-28)
    Source: assumption sagemaker-notebook-refusals
    """
    platform = requested.get("PlatformIdentifier", "")
    if platform.startswith(_ENDED):
        yield f"the platform {platform} is retired: create the notebook instance on notebook-al2023-v1"
    if requested["InstanceType"].startswith(_NOT_ON_AL2023):
        yield f"{requested['InstanceType']} is not supported by {platform or 'notebook-al2023-v1'}"


def _network(requested: dict[str, Any], account: str, region: str) -> Iterator[str]:
    """Return the errors of subnet and security groups.

    Source: model botocore sagemaker CreateNotebookInstanceInput (DirectInternetAccess, SecurityGroupIds)
    Source: assumption sagemaker-notebook-refusals
    """
    subnet, groups = requested.get("SubnetId"), requested.get("SecurityGroupIds", [])
    if subnet is None and requested.get("DirectInternetAccess") == "Disabled":
        yield "DirectInternetAccess can be disabled only with a subnet"
    if subnet is None and groups:
        yield "security groups require a subnet"
    if subnet is not None and not groups:
        yield "security groups are required with a subnet"
    if subnet is not None and groups:
        yield from NetworkOf(account, region).problems([subnet], groups)
