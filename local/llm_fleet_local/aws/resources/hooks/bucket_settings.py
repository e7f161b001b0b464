"""S3 buckets: lifecycle rules, access control, logging and notifications in the API's form.

Source: model CloudFormation AWS::S3::Bucket
Source: model botocore s3 PutBucketNotificationConfiguration
"""

import re
from typing import Any

from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.situation import Situation

_FILTERS = {
    "Prefix": "Prefix",
    "ObjectSizeGreaterThan": "ObjectSizeGreaterThan",
    "ObjectSizeLessThan": "ObjectSizeLessThan",
}
_LOG_DELIVERY = 'uri="http://acs.amazonaws.com/groups/s3/LogDelivery"'
_SAME = {"Status", "AbortIncompleteMultipartUpload"}
_EXPIRY = {
    "ExpirationInDays": "Days",
    "ExpirationDate": "Date",
    "ExpiredObjectDeleteMarker": "ExpiredObjectDeleteMarker",
}


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties with these four in the shapes of S3's operations."""
    result = dict(properties)
    if acl := result.get("AccessControl"):
        canned = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", str(acl)).lower()
        # botocore's model lacks this canned ACL: the same permissions as grants
        result["AccessControl"] = {"Grant": _LOG_DELIVERY} if acl == "LogDeliveryWrite" else {"Canned": canned}
    if logging := result.get("LoggingConfiguration"):
        result["LoggingConfiguration"] = {
            "DestinationBucketName": at.ref or result["BucketName"],
            "LogFilePrefix": "",
        } | logging
    if lifecycle := result.get("LifecycleConfiguration"):
        rules = [_rule(rule, index) for index, rule in enumerate(lifecycle["Rules"])]
        rest = {name: value for name, value in lifecycle.items() if name != "Rules"}
        result["LifecycleConfiguration"] = rest | {"Rules": rules}
    if notification := result.get("NotificationConfiguration"):
        result["NotificationConfiguration"] = _notification(notification)
    return result


def _rule(rule: dict[str, Any], index: int) -> dict[str, Any]:
    """Convert a rule with flat members to S3's, in which filter and expiration are nested."""
    rest = dict(rule)
    made: dict[str, Any] = {"ID": rest.pop("Id", f"rule-{index + 1}")}
    made |= {name: rest.pop(name) for name in _SAME & set(rest)}
    made["Filter"] = _filter(rest)
    expiry = {_EXPIRY[name]: rest.pop(name) for name in tuple(_EXPIRY) if name in rest}
    if expiry:
        made["Expiration"] = expiry
    transitions = rest.pop("Transitions", [])
    transitions += [rest.pop("Transition")] if "Transition" in rest else []
    if transitions:
        made["Transitions"] = [
            _renamed(one, {"TransitionInDays": "Days", "TransitionDate": "Date"}) for one in transitions
        ]
    made |= _noncurrent(rest)
    return made | rest  # other members keep their names; the mapping rejects those that S3 does not support


def _filter(rest: dict[str, Any]) -> dict[str, Any]:
    tags: list[Any] = rest.pop("TagFilters", [])
    parts = {_FILTERS[name]: rest.pop(name) for name in tuple(_FILTERS) if name in rest}
    if len(tags) + len(parts) > 1:
        return {"And": parts | ({"Tags": tags} if tags else {})}
    return parts | ({"Tag": tags[0]} if tags else {}) or {"Prefix": ""}


def _noncurrent(rest: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "NoncurrentVersionExpirationInDays" in rest:
        made["NoncurrentVersionExpiration"] = {"NoncurrentDays": rest.pop("NoncurrentVersionExpirationInDays")}
    if "NoncurrentVersionExpiration" in rest:
        made["NoncurrentVersionExpiration"] = rest.pop("NoncurrentVersionExpiration")
    transitions = rest.pop("NoncurrentVersionTransitions", [])
    transitions += [rest.pop("NoncurrentVersionTransition")] if "NoncurrentVersionTransition" in rest else []
    if transitions:
        made["NoncurrentVersionTransitions"] = [
            _renamed(one, {"TransitionInDays": "NoncurrentDays"}) for one in transitions
        ]
    return made


def _renamed(value: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): item for name, item in value.items()}


def _notification(given: dict[str, Any]) -> dict[str, Any]:
    """Return S3's form; only EventBridge is supported, because no other notifications are delivered here."""
    others = sorted(set(given) - {"EventBridgeConfiguration"})
    if others:
        raise ResourceFailed(
            f"AWS::S3::Bucket: NotificationConfiguration: the AWS emulator does not deliver {', '.join(others)}"
        )
    enabled = given.get("EventBridgeConfiguration", {}).get("EventBridgeEnabled", True)
    return {"EventBridgeConfiguration": {}} if enabled else {}
