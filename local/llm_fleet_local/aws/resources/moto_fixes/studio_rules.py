"""Domains and user profiles of Studio that their API model allows and SageMaker rejects."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from moto.fsx.models import fsx_backends

from llm_fleet_local.aws.resources.moto_fixes.cluster_context import role_problems
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_KINDS = {"JupyterLabAppSettings": "JupyterLab", "CodeEditorAppSettings": "CodeEditor"}
_SETTINGS = ("DefaultUserSettings", "DefaultSpaceSettings")


def domain_problems(requested: dict[str, Any], account: str, region: str, scripts: Mapping[str, str]) -> list[str]:
    """Return the errors of a new or changed domain. `scripts`: application type by ARN of lifecycle configuration."""
    errors = [
        *_network(requested, account, region),
        *(one for settings in _each(requested) for one in _settings(settings, account, scripts)),
        *(one for settings in _each(requested) for one in _file_systems(requested, settings, account, region)),
    ]
    return list(dict.fromkeys(errors))


def profile_problems(requested: dict[str, Any], domain: dict[str, Any], account: str) -> list[str]:
    """Return the errors of a user profile in this domain.

    Source: model botocore sagemaker CreateUserProfileRequest (SingleSignOnUserIdentifier)
    Source: assumption service-error-texts
    """
    errors: list[str] = []
    identity = [name for name in ("SingleSignOnUserIdentifier", "SingleSignOnUserValue") if name in requested]
    if domain["AuthMode"] == "SSO" and len(identity) < 2:
        errors.append("SingleSignOnUserIdentifier and SingleSignOnUserValue are required for a domain in SSO mode")
    if domain["AuthMode"] == "IAM" and identity:
        errors.append(f"{', '.join(identity)} cannot be specified for a domain in IAM mode")
    role = requested.get("UserSettings", {}).get("ExecutionRole")
    return [*errors, *(role_problems(role, account) if role and _is_of(role, account) else [])]


def scripts_of(requested: dict[str, Any]) -> set[str]:
    """Return the ARNs of a domain's lifecycle configurations."""
    return {arn for settings in _each(requested) for kind in _KINDS for arn in _arns(settings.get(kind, {}))}


def _each(requested: dict[str, Any]) -> list[dict[str, Any]]:
    return [requested[name] for name in _SETTINGS if name in requested]


def _arns(application: dict[str, Any]) -> list[str]:
    return list(application.get("LifecycleConfigArns", ()))


def _is_of(role: str, account: str) -> bool:
    return role.split(":")[4] == account


def _network(requested: dict[str, Any], account: str, region: str) -> Iterator[str]:
    """Return the errors of a domain's VPC, subnets and security groups.

    Source: model botocore sagemaker CreateDomainRequest (VpcId, SubnetIds)
    Source: model botocore sagemaker UserSettings (SecurityGroups)
    Source: assumption sagemaker-studio-refusals
    """
    if not requested.get("VpcId") or not requested.get("SubnetIds"):
        yield "VpcId and SubnetIds are required"
        return
    groups = [group for settings in _each(requested) for group in settings.get("SecurityGroups", ())]
    if requested.get("AppNetworkAccessType") == "VpcOnly" and not requested["DefaultUserSettings"].get(
        "SecurityGroups"
    ):
        yield "SecurityGroups of DefaultUserSettings are required with VpcOnly"
    network = NetworkOf(account, region)
    found = network.problems(requested["SubnetIds"], groups)
    yield from found
    for subnet in () if found else requested["SubnetIds"]:
        if network.subnet(subnet).vpc_id != requested["VpcId"]:
            yield f"the subnet {subnet} is not in {requested['VpcId']}"


def _settings(settings: dict[str, Any], account: str, scripts: Mapping[str, str]) -> Iterator[str]:
    """Return the errors of the roles, scripts and landing page in settings.

    Source: model botocore sagemaker UserSettings (DefaultLandingUri)
    Source: assumption sagemaker-studio-refusals
    """
    yield from role_problems(settings["ExecutionRole"], account)
    for name, kind in _KINDS.items():
        application = settings.get(name, {})
        for arn in _arns(application):
            if scripts.get(arn) != kind:
                yield f"the lifecycle configuration {arn} for {kind} does not exist"
        chosen = application.get("DefaultResourceSpec", {}).get("LifecycleConfigArn")
        if chosen is not None and chosen not in _arns(application):
            yield f"{chosen} is the default of {name} but is not in its LifecycleConfigArns"
    if settings.get("DefaultLandingUri") == "studio::" and settings.get("StudioWebPortal") != "ENABLED":
        yield "DefaultLandingUri studio:: requires StudioWebPortal ENABLED"


def _file_systems(requested: dict[str, Any], settings: dict[str, Any], account: str, region: str) -> Iterator[str]:
    """Return an error for each file system in settings that does not exist, or is in none of the subnets.

    Source: assumption sagemaker-studio-refusals
    """
    systems = cast("dict[str, Any]", fsx_backends[account][region].file_systems)
    for config in settings.get("CustomFileSystemConfigs", ()):
        wanted = config.get("FSxLustreFileSystemConfig", {}).get("FileSystemId")
        if wanted is None:
            continue
        found = systems.get(wanted)
        if found is None:
            yield f"the file system {wanted} does not exist"
        elif not set(found.record["SubnetIds"]) & set(requested.get("SubnetIds", ())):
            yield f"the file system {wanted} is in none of the domain's subnets"
