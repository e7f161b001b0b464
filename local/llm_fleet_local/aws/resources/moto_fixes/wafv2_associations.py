"""AWS WAF: rules for associations, deletions and log destinations of web ACLs.

moto associates web ACLs with missing resources, several with one resource, deletes web ACLs in use, and drops the
setting for fields that must not be logged.
"""

import json
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.elbv2.models import elbv2_backends
from moto.wafv2.models import FakeWebACL, WAFV2Backend
from moto.wafv2.responses import WAFV2Response

from llm_fleet_local.aws.resources.moto_fixes.kept_members import once

_KEPT = ("DataProtectionConfig", "OnSourceDDoSProtectionConfig", "ApplicationConfig", "MonetizationConfig")
_NAMES = {"logs": ":log-group:aws-waf-logs-", "s3": ":::aws-waf-logs-", "firehose": ":deliverystream/aws-waf-logs-"}


def install() -> None:
    """Validate associations, deletions and log destinations."""
    if not once(WAFV2Response, "rules"):
        return
    for method in ("create_web_acl", "update_web_acl"):
        setattr(WAFV2Response, method, _keeping(getattr(WAFV2Response, method)))
    FakeWebACL.to_dict = _reporting(FakeWebACL.to_dict)
    WAFV2Backend.associate_web_acl = _associating(WAFV2Backend.associate_web_acl)
    WAFV2Backend.delete_web_acl = _deleting(WAFV2Backend.delete_web_acl)
    WAFV2Backend.put_logging_configuration = _logging(WAFV2Backend.put_logging_configuration)


def _keeping(as_moto_does: Any) -> Any:
    def method(self: Any) -> Any:
        answer = as_moto_does(self)
        given: dict[str, Any] = json.loads(self.body)
        for acl in self.wafv2_backend.wacls.values():
            if acl.name == given["Name"]:
                acl.kept = {name: given[name] for name in _KEPT if name in given}
        return answer

    return method


def _reporting(as_moto_does: Any) -> Any:
    def to_dict(self: Any) -> dict[str, Any]:
        kept: dict[str, Any] = getattr(self, "kept", {})
        return as_moto_does(self) | kept

    return to_dict


def _associating(as_moto_does: Any) -> Any:
    def associate_web_acl(self: Any, web_acl_arn: str, resource_arn: str) -> None:
        balancers = elbv2_backends[self.account_id][self.region_name].load_balancers
        if ":loadbalancer/" in resource_arn and resource_arn not in balancers:
            # Source: model botocore wafv2 WAFUnavailableEntityException
            # Source: assumption wafv2-refuses-what-is-in-use
            raise JsonRESTError("WAFUnavailableEntityException", f"The resource {resource_arn} does not exist")
        self.disassociate_web_acl(resource_arn)
        as_moto_does(self, web_acl_arn, resource_arn)

    return associate_web_acl


def _deleting(as_moto_does: Any) -> Any:
    def delete_web_acl(self: Any, name: str, scope: str, _id: str, lock_token: str) -> None:
        acl = self.get_web_acl(None, name, _id)
        balancers = elbv2_backends[self.account_id][self.region_name].load_balancers
        users = [one for one in acl.associated_resources if ":loadbalancer/" not in one or one in balancers]
        # Source: model botocore wafv2 DeleteWebACL
        # Source: assumption wafv2-refuses-what-is-in-use
        if users:
            raise JsonRESTError(
                "WAFAssociatedItemException",
                f"AWS WAF couldn't perform the operation because your resource is being used by another: {users}",
            )
        as_moto_does(self, name, scope, _id, lock_token)
        self.logging_configurations.pop(acl.arn, None)

    return delete_web_acl


def _logging(as_moto_does: Any) -> Any:
    def put_logging_configuration(self: Any, arn: str, destinations: list[str], *rest: Any) -> Any:
        if arn not in self.wacls:
            # Source: model botocore wafv2 WAFNonexistentItemException
            # Source: assumption service-error-texts
            raise JsonRESTError("WAFNonexistentItemException", f"The web ACL {arn} does not exist")
        for one in destinations:
            wanted = _NAMES.get(one.split(":")[2], ":aws-waf-logs-")
            # Source: model botocore wafv2 PutLoggingConfiguration
            # Source: recorded aws/aws-cdk#35311, code of the error, whose text names no cause (2025-08-22)
            if wanted not in one:
                raise JsonRESTError(
                    "WAFInvalidParameterException",
                    f"The ARN isn't valid: a destination's name must begin with aws-waf-logs-; given: {one}",
                )
        return as_moto_does(self, arn, destinations, *rest)

    return put_logging_configuration
