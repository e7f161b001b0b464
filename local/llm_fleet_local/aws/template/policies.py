"""`CreationPolicy` and `UpdatePolicy` are checked; there are no waits: signals count as received, which is reported.

Names and limits are those of the CloudFormation template reference.

Source: model cfn-lint schemas/other/resources/update_policy.json
Source: model cfn-lint schemas/other/resources/configuration.json
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from llm_fleet_local.aws.template.values import TemplateError

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_SIGNALED = (_GROUP, "AWS::EC2::Instance", "AWS::CloudFormation::WaitCondition")
_CREATION = {"ResourceSignal": ("Count", "Timeout"), "AutoScalingCreationPolicy": ("MinSuccessfulInstancesPercent",)}
_UPDATE = {
    "AutoScalingReplacingUpdate": ("WillReplace",),
    "AutoScalingRollingUpdate": (
        "MaxBatchSize",
        "MinActiveInstancesPercent",
        "MinInstancesInService",
        "MinSuccessfulInstancesPercent",
        "PauseTime",
        "SuspendProcesses",
        "WaitOnResourceSignals",
    ),
    "AutoScalingScheduledAction": ("IgnoreUnmodifiedGroupSizeProperties",),
    "CodeDeployLambdaAliasUpdate": (
        "AfterAllowTrafficHook",
        "ApplicationName",
        "BeforeAllowTrafficHook",
        "DeploymentGroupName",
    ),
    "EnableVersionUpgrade": (),
    "UseOnlineResharding": (),
}
_DURATION = re.compile(r"PT(?=\d)(\d+H)?(\d+M)?(\d+S)?")
_LONGEST_SECONDS = 12 * 3600


def check_policies(logical_id: str, resource_type: str, declared: Mapping[str, Any]) -> None:
    """Raise `TemplateError` for an unknown policy, or one that this type does not support.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html
    (2026-11)
    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
    (2026-11)
    """
    where = f"[/Resources/{logical_id}"
    creation, update = declared.get("CreationPolicy", {}), declared.get("UpdatePolicy", {})
    for name, known, given in (("CreationPolicy", _CREATION, creation), ("UpdatePolicy", _UPDATE, update)):
        unknown = list(_unknown(given, known))
        if unknown:
            raise TemplateError(f"{where}/{name}] {unknown} is not supported; allowed: {sorted(known)}")
    if creation and resource_type not in _SIGNALED:
        raise TemplateError(f"{where}/CreationPolicy] is not supported for {resource_type}")
    for name, value in (
        ("CreationPolicy/Timeout", _member(creation, "ResourceSignal", "Timeout")),
        ("UpdatePolicy/PauseTime", _member(update, "AutoScalingRollingUpdate", "PauseTime")),
    ):
        if value is not None and not 0 <= _seconds(value) <= _LONGEST_SECONDS:
            raise TemplateError(f"{where}/{name}] {value!r} must be a duration of at most 12 hours, such as PT15M")


def notes_on_creation(policy: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the notes on a creation that would have waited for signals."""
    if not policy or "ResourceSignal" not in policy:
        return ()
    count = policy["ResourceSignal"].get("Count", 1)
    return (f"CreationPolicy: {count} signals count as received, because no instance boots here that could send them",)


def notes_on_update(policy: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the notes on an update that would have replaced instances."""
    rolling = {"AutoScalingReplacingUpdate", "AutoScalingRollingUpdate"} & set(policy or {})
    return tuple(f"UpdatePolicy: {name} replaces no instance here" for name in sorted(rolling))


def _unknown(given: Any, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield str(given)
        return
    for name, members in cast("Mapping[str, Any]", given).items():
        if name not in known:
            yield name
        elif isinstance(members, Mapping):
            yield from (f"{name}.{one}" for one in cast("Mapping[str, Any]", members) if one not in known[name])


def _member(policy: Mapping[str, Any], name: str, member: str) -> Any:
    value = policy.get(name, {}).get(member)
    return value if isinstance(value, str) else None


def _seconds(duration: str) -> int:
    found = _DURATION.fullmatch(duration)
    if not found:
        return -1
    hours, minutes, seconds = (int(part[:-1]) if part else 0 for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds
