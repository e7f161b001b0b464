"""Application load balancers: two AZs, existing security groups, log buckets that allow writes, network interfaces.

moto accepts one subnet and any security group, requires a scheme, returns only attributes that were set, deletes
protected load balancers, and creates no network interfaces. Defaults of attributes are those of the ELB API reference.

Source: model botocore elbv2 LoadBalancerAttribute
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from moto.elbv2.exceptions import ELBClientError
from moto.elbv2.models import ELBv2Backend, FakeLoadBalancer
from moto.elbv2.responses import ELBV2Response
from moto.s3.models import s3_backends

from llm_fleet_local.aws.resources.moto_fixes.kept_members import after, before, once
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_DEFAULTS = {
    "access_logs.s3.enabled": "false",
    "client_keep_alive.seconds": "3600",
    "connection_logs.s3.bucket": "",
    "connection_logs.s3.enabled": "false",
    "connection_logs.s3.prefix": "",
    "idle_timeout.timeout_seconds": "60",
    "load_balancing.cross_zone.enabled": "true",
    "routing.http.desync_mitigation_mode": "defensive",
    "routing.http.drop_invalid_header_fields.enabled": "false",
    "routing.http.preserve_host_header.enabled": "false",
    "routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
    "routing.http.xff_client_port.enabled": "false",
    "routing.http.xff_header_processing.mode": "append",
    "routing.http2.enabled": "true",
    "waf.fail_open.enabled": "false",
    "zonal_shift.config.enabled": "false",
}
_LIMITS = {"idle_timeout.timeout_seconds": (1, 4000), "client_keep_alive.seconds": (60, 604800)}
_INTERFACES = "_llm_fleet_interfaces"
_WRITER = "logdelivery.elasticloadbalancing.amazonaws.com"
_PARTITION = "aws"


def install() -> None:
    """Validate load balancers and create their network interfaces."""
    if not once(FakeLoadBalancer, "rules"):
        return
    before(ELBV2Response, "create_load_balancer", _check_new)
    after(ELBV2Response, "create_load_balancer", _place_new)
    after(ELBV2Response, "set_subnets", _move)
    after(ELBV2Response, "set_security_groups", _move)
    before(ELBV2Response, "modify_load_balancer_attributes", _check_attributes)
    ELBv2Backend.delete_load_balancer = _delete


def _check_new(response: Any, given: dict[str, Any]) -> None:
    given.setdefault("Scheme", "internet-facing")
    given.setdefault("Type", "application")
    given.setdefault("IpAddressType", "ipv4")
    subnets = given.get("Subnets") or [one["SubnetId"] for one in given.get("SubnetMappings", ())]
    network = NetworkOf(response.current_account, response.region)
    problems = network.problems(subnets, given.get("SecurityGroups", []))
    if problems:
        # Source: model botocore elbv2 SubnetNotFoundException
        # Source: model botocore elbv2 InvalidSecurityGroupException
        # Source: assumption service-error-texts
        raise ELBClientError("InvalidConfigurationRequest", "; ".join(problems))
    zones = [network.subnet(one).availability_zone for one in subnets]
    # Source: model botocore elbv2 CreateLoadBalancerInput (Subnets)
    # Source: recorded aws-cloudformation/cfn-lint#638, text of the error (2019-02-05)
    if given["Type"] == "application" and len(set(zones)) < 2:
        raise ELBClientError(
            "ValidationError", "At least two subnets in two different Availability Zones must be specified"
        )
    # Source: model botocore elbv2 CreateLoadBalancerInput (Subnets)
    # Source: recorded robertdebock/terraform-aws-vault#5, text of the error (2022-02-17)
    if len(set(zones)) < len(zones):
        raise ELBClientError(
            "InvalidConfigurationRequest",
            "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
        )
    # Source: assumption load-balancer-checks-surroundings
    # Source: recorded aws-samples/aws-multi-region-bc-dr-workshop#23, text of the error (2019-12-20)
    if given["Scheme"] == "internet-facing":
        closed = [one for one in subnets if not network.has_internet_gateway(one)]
        if closed:
            raise ELBClientError("InvalidSubnet", f"VPC of {', '.join(closed)} has no internet gateway")


def _place_new(response: Any, given: dict[str, Any]) -> None:
    _place(response, _named(response, given["Name"]))


def _move(response: Any, given: dict[str, Any]) -> None:
    _place(response, response.elbv2_backend.load_balancers[given["LoadBalancerArn"]])


def _named(response: Any, name: str) -> Any:
    return next(one for one in response.elbv2_backend.load_balancers.values() if one.name == name)


def _place(response: Any, balancer: Any) -> None:
    balancer.attrs = _DEFAULTS | balancer.attrs
    if not hasattr(balancer, _INTERFACES):
        balancer.attrs["load_balancing.cross_zone.enabled"] = "true"
    network = NetworkOf(response.current_account, response.region)
    network.detach(getattr(balancer, _INTERFACES, []))
    description = f"ELB {balancer.arn.partition(':loadbalancer/')[2]}"
    groups: list[str] = balancer.security_groups or []
    setattr(balancer, _INTERFACES, [network.attach(one.id, groups, description) for one in balancer.subnets])


def _check_attributes(response: Any, given: dict[str, Any]) -> None:
    attributes = {one["Key"]: one.get("Value", "") for one in given["Attributes"]}
    for name, (least, most) in _LIMITS.items():
        if name in attributes and not least <= int(attributes[name]) <= most:
            # Source: model botocore elbv2 LoadBalancerAttribute
            # Source: assumption service-error-texts
            raise ELBClientError(
                "ValidationError", f"'{name}' value '{attributes[name]}' must be from {least} to {most}"
            )
    for kind in ("access_logs", "connection_logs"):
        if attributes.get(f"{kind}.s3.enabled") == "true":
            _check_log_bucket(response, attributes, kind)


def _check_log_bucket(response: Any, attributes: Mapping[str, str], kind: str) -> None:
    """Reject a bucket that ELB cannot write to: it writes a test file when logs are switched on.

    Source: model botocore elbv2 LoadBalancerAttribute
    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/enable-access-logging.html
    (2026-11)
    Source: recorded terraform-aws-modules/terraform-aws-s3-bucket#185, text of the error (2022-09-21)
    Source: assumption load-balancer-checks-surroundings
    """
    name = attributes.get(f"{kind}.s3.bucket", "")
    bucket = s3_backends[response.current_account][_PARTITION].buckets.get(name)
    if bucket is None:
        raise ELBClientError("InvalidConfigurationRequest", f"S3 bucket does not exist: {name}")
    policy = json.loads(bucket.policy.decode() if isinstance(bucket.policy, bytes) else bucket.policy or "{}")
    statements = cast(list[Any], policy.get("Statement", []))
    if not any(_lets_write(statement) for statement in statements):
        raise ELBClientError(
            "InvalidConfigurationRequest", f"Access Denied for bucket: {name}. Please check S3bucket permission"
        )
    if "aws:kms" in str(bucket.encryption):
        raise ELBClientError(
            "InvalidConfigurationRequest", f"Access Denied for bucket: {name}. Logs require SSE-S3, not a KMS key"
        )


def _lets_write(statement: Mapping[str, Any]) -> bool:
    writer = str(statement.get("Principal"))
    may = statement["Effect"] == "Allow" and "s3:PutObject" in str(statement["Action"])
    return may and (_WRITER in writer or ":root" in writer)


def _delete(self: Any, arn: str) -> None:
    balancer = self.load_balancers.get(arn)
    if balancer is None:
        return
    # Source: model botocore elbv2 DeleteLoadBalancer
    # Source: recorded rebuy-de/aws-nuke#1240, text of the error (2024-06-28)
    if balancer.attrs.get("deletion_protection.enabled") == "true":
        raise ELBClientError(
            "OperationNotPermitted", f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled"
        )
    NetworkOf(self.account_id, self.region_name).detach(getattr(balancer, _INTERFACES, []))
    del self.load_balancers[arn]
