"""A duplicate security group rule is rejected with EC2's message, regardless of its description.

moto compares the descriptions of peer groups, so the same rule with another description is a second rule. It compares
IPv4 and IPv6 addresses in one direction only, and its message does not name the rule.

Source: document https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (2026-07)
Source: recorded hashicorp/terraform#1874, aws-cloudformation/cloudformation-coverage-roadmap#1532 (the words)
Source: recorded aws-cloudformation/cloudformation-coverage-roadmap#612 (descriptions do not distinguish rules)
"""

from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.security_groups import SecurityGroupBackend, SecurityGroupRule

_INSTALLED = "_llm_fleet_distinct_rules"
_ALL = "-1"


def install() -> None:
    """Compare rules as EC2 does."""
    if hasattr(SecurityGroupRule, _INSTALLED):
        return
    setattr(SecurityGroupRule, _INSTALLED, True)
    backend: Any = SecurityGroupBackend
    for side in ("ingress", "egress"):
        name = f"authorize_security_group_{side}"
        setattr(backend, name, _rejecting(getattr(backend, name), f"{side}_rules"))
    SecurityGroupRule.__eq__ = _same  # pyright: ignore[reportAttributeAccessIssue]


def _rejecting(as_moto_does: Any, side: str) -> Any:
    def authorize(self: Any, group_name_or_id: str, *args: Any, **named: Any) -> Any:
        group = self.get_security_group_by_name_or_id(group_name_or_id, named.get("vpc_id"))
        if group is not None and not args:
            for rule in _requested(self, group, named):
                if rule in getattr(group, side):
                    raise EC2ClientError(
                        "InvalidPermission.Duplicate", f'the specified rule "{_rule_text(rule)}" already exists'
                    )
        return as_moto_does(self, group_name_or_id, *args, **named)

    return authorize


def _requested(ec2: Any, group: Any, named: dict[str, Any]) -> list[Any]:
    """Return the rules of the request, as moto creates them."""
    return list(
        ec2._iterate_security_rules(
            named["ip_protocol"],
            group.group_id,
            named["from_port"],
            named["to_port"],
            named.get("ip_ranges") or [],
            named.get("source_groups") or [],
            named.get("prefix_list_ids") or [],
        )
    )


def _rule_text(rule: Any) -> str:
    protocol = "ALL" if rule.ip_protocol == _ALL else str(rule.ip_protocol).upper()
    ports = "" if rule.ip_protocol == _ALL else f", from port: {rule.from_port}, to port: {rule.to_port}"
    return f"peer: {_peer(rule)}, {protocol}{ports}, ALLOW"


def _same(one: Any, other: Any) -> bool:
    return isinstance(other, SecurityGroupRule) and _key(one) == _key(other)


def _key(rule: Any) -> tuple[Any, ...]:
    ports = () if rule.ip_protocol == _ALL else (rule.from_port, rule.to_port)
    return (rule.ip_protocol, _peer(rule), *ports)


def _peer(rule: Any) -> str | None:
    addresses = rule.ip_range
    if isinstance(addresses, str):
        return addresses
    return (
        addresses.get("CidrIp")
        or addresses.get("CidrIpv6")
        or rule.source_group.get("GroupId")
        or rule.source_group.get("GroupName")
        or rule.prefix_list_id
    )
