"""Log groups of HyperPod's clusters, made or adopted: HyperPod makes one when a node first writes, and for ever.

Its name ends with the cluster's id, which nobody knows before the cluster is being created. So no template can make it
in time; what hears of the cluster's state, or finds the cluster, can.
"""

from typing import Any

from botocore.exceptions import ClientError

_THERE = "ResourceAlreadyExistsException"


def keep_log_group(logs: Any, name: str, *, days: int, key_arn: str) -> str:
    """Let the log group `name` exist, keep what it holds for `days`, and be encrypted by `key_arn` unless empty.

    Returns `made`, `adopted` where it had another retention or key, or `kept`. Doing it twice changes nothing; a group
    that is being made by HyperPod at the same time is adopted. Nothing is ever deleted.
    """
    found = _find(logs, name)
    if found is None and _make(logs, name):
        _set(logs, name, days=days, key_arn=key_arn)
        return "made"
    there = found or {}
    if there.get("retentionInDays") == days and (not key_arn or there.get("kmsKeyId") == key_arn):
        return "kept"
    _set(logs, name, days=days, key_arn=key_arn)
    return "adopted"


def _find(logs: Any, name: str) -> dict[str, Any] | None:
    groups: list[dict[str, Any]] = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return next((group for group in groups if group["logGroupName"] == name), None)


def _make(logs: Any, name: str) -> bool:
    try:
        logs.create_log_group(logGroupName=name)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == _THERE:
            return False
        raise
    return True


def _set(logs: Any, name: str, *, days: int, key_arn: str) -> None:
    logs.put_retention_policy(logGroupName=name, retentionInDays=days)
    if key_arn:
        logs.associate_kms_key(logGroupName=name, kmsKeyId=key_arn)
