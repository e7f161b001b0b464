"""Dynamic references: `{{resolve:ssm:…}}` and `{{resolve:secretsmanager:…}}` inside property values."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from llm_fleet_local.aws.template.lookups import Lookups
from llm_fleet_local.aws.template.values import TemplateError

_REFERENCE = re.compile(r"\{\{resolve:(?P<service>[a-z-]+):(?P<key>[^}]+)\}\}")


def resolve_dynamic(value: Any, *, region: str, lookups: Lookups) -> Any:
    """Return `value` with each dynamic reference replaced by the service's current value."""
    if isinstance(value, str) and "{{resolve:" in value:
        return _REFERENCE.sub(lambda match: _look_up(match["service"], match["key"], region, lookups), value)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: resolve_dynamic(item, region=region, lookups=lookups) for key, item in members.items()}
    if isinstance(value, list):
        return [resolve_dynamic(item, region=region, lookups=lookups) for item in cast("list[Any]", value)]
    return value


def _look_up(service: str, key: str, region: str, lookups: Lookups) -> str:
    # Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html:
    # "CloudFormation currently supports the following dynamic reference patterns": ssm, ssm-secure, secretsmanager
    # Source: emulation, ssm-secure is rejected before: see checks.py
    if service == "ssm":
        name, _, version = key.partition(":")
        return lookups.ssm_parameter(region, name, version or None)
    if service == "secretsmanager":
        return _secret(key, region, lookups)
    raise TemplateError(f"dynamic reference to {service} is not supported; allowed: ssm, secretsmanager")


def _secret(key: str, region: str, lookups: Lookups) -> str:
    """Resolve `secret-id:SecretString:json-key:version-stage:version-id`; the id can be an ARN with colons.

    Source: document https://docs.aws.amazon.com/secretsmanager/latest/userguide/cfn-example_reference-secret.html
    (2026-11)
    Source: recorded aws/aws-sam-cli#2153, "Could not find a value associated with JSONKey in SecretString" (2020-08-04)
    """
    secret_id, marker, rest = key.partition(":SecretString")
    json_key, stage, version_id = (*rest.removeprefix(":").split(":"), "", "", "")[:3] if marker else ("", "", "")
    text = lookups.secret(region, secret_id, stage or None, version_id or None)
    if not json_key:
        return text
    try:
        return str(json.loads(text)[json_key])
    except (ValueError, KeyError, TypeError) as error:
        raise TemplateError(f"secret {secret_id} has no JSON key {json_key}") from error
