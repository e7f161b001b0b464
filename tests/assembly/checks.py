"""Checks for errors between the stacks of an assembly, which no single template shows. Each returns its findings.

`replaced` compares two assemblies, of a fleet before and after a change.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

from llm_fleet.catalog.aws_api import create_only
from llm_fleet.rules.network_layout import ANYWHERE
from llm_fleet_local.aws.resources.schemas import create_only_paths, schema_of, values_at
from tests.assembly.assembly import Assembly, Json, Resource
from tests.assembly.silent_errors import SILENT_CHECKS

_INWARD, _OUTWARD = "in", "out"
_PEERS = ("CidrIp", "CidrIpv6", "SourcePrefixListId", "DestinationPrefixListId")
_GROUP_PEERS = ("SourceSecurityGroupId", "DestinationSecurityGroupId")
_ANYWHERE: Json = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}


def rules_twice(assembly: Assembly) -> list[str]:
    """Return each security group rule that is created more than once, with its places.

    EC2 compares rules by group, direction, peer, protocol and ports, not by their description.
    Source: document https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    (`InvalidPermission.Duplicate`: "the specified inbound or outbound rule already exists for that security group").
    """
    made: dict[str, list[str]] = defaultdict(list)
    for resource in assembly.resources:
        for rule in _rules(assembly, resource):
            made[rule].append(resource.place)
    return [f"{rule}: {', '.join(places)}" for rule, places in sorted(made.items()) if len(places) > 1]


def _rules(assembly: Assembly, resource: Resource) -> Iterator[str]:
    properties = resource.properties
    match resource.type:
        case "AWS::EC2::SecurityGroupIngress":
            yield _rule(assembly, resource.stack, properties["GroupId"], _INWARD, properties)
        case "AWS::EC2::SecurityGroupEgress":
            yield _rule(assembly, resource.stack, properties["GroupId"], _OUTWARD, properties)
        case "AWS::EC2::SecurityGroup":
            own = {"Ref": resource.logical_id}
            for inward in properties.get("SecurityGroupIngress", []):
                yield _rule(assembly, resource.stack, own, _INWARD, inward)
            # A security group without outbound rules in the template allows all outbound traffic.
            for outward in properties.get("SecurityGroupEgress", [_ANYWHERE]):
                yield _rule(assembly, resource.stack, own, _OUTWARD, outward)
        case _:
            pass


def _rule(assembly: Assembly, stack: str, group: Any, direction: str, rule: Json) -> str:
    peer = next(rule[name] for name in (*_PEERS, *_GROUP_PEERS) if name in rule)
    protocol = str(rule["IpProtocol"]).lower()
    # For all protocols EC2 ignores ports.
    ports = () if protocol == "-1" else (rule.get("FromPort"), rule.get("ToPort"))
    return json.dumps([assembly.resolve(group, stack), direction, assembly.resolve(peer, stack), protocol, *ports])


def ways_out_lost(assembly: Assembly) -> list[str]:
    """Return each security group whose default outbound rule for all traffic CloudFormation removes.

    This includes existing groups, of which it is unknown whether they have such a rule, except a retained group of
    llm-fleet: it gets rules for both halves of all addresses.
    Source: assumption cloudformation-egress-removes-everything-out
    """
    open_to_all, in_halves, additional = set[str](), set[str](), defaultdict[str, list[str]](list)
    for resource in assembly.resources:
        for rule in _rules(assembly, resource):
            group, direction, peer, protocol, *_ = json.loads(rule)
            if direction == _OUTWARD and (peer, protocol) == ("0.0.0.0/0", "-1"):
                open_to_all.add(group)
            elif resource.type == "AWS::EC2::SecurityGroupEgress":
                additional[group].append(resource.place)
                in_halves.update([group] if peer in ANYWHERE else [])
    unknown = additional.keys() - assembly.by_place.keys() - in_halves
    lost = [group for group in additional if group in open_to_all | unknown]
    return [f"{group}: {', '.join(additional[group])}" for group in sorted(lost)]


_NAMED_WITHIN_ANOTHER = {
    "AWS::IAM::Policy": "of one role",
    "AWS::ApplicationAutoScaling::ScalingPolicy": "of one target",
}
"""Types whose names must be unique only within a parent resource."""


def names_twice(assembly: Assembly) -> list[str]:
    """Return each physical name that two resources of one type have, and each export's name that two outputs have.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
    (2026-07): two resources of one type cannot have one name.
    """
    had: dict[str, list[str]] = defaultdict(list)
    for resource in assembly.resources:
        if (name := _name(assembly, resource)) is not None:
            had[f"{resource.type} {name}"].append(resource.place)
    for stack, template in assembly.templates.items():
        for id, output in template.get("Outputs", {}).items():
            if "Export" in output:
                had[f"export {json.dumps(assembly.resolve(output['Export']['Name'], stack))}"].append(f"{stack}.{id}")
    return [f"{name}: {', '.join(places)}" for name, places in sorted(had.items()) if len(places) > 1]


def _name(assembly: Assembly, resource: Resource) -> str | None:
    """Return the physical name of the resource; `None` if the template does not set it."""
    if resource.type in _NAMED_WITHIN_ANOTHER:
        return None
    schema = schema_of(resource.type) or {}
    identity = [pointer.rsplit("/", 1)[-1] for pointer in schema.get("primaryIdentifier", ())]
    properties = resource.properties
    if not identity or any(part not in properties for part in identity):
        identity = [one for one in ("Name", f"{resource.type.rsplit(':', 1)[-1]}Name") if one in properties]
    return json.dumps([assembly.resolve(properties[part], resource.stack) for part in identity]) if identity else None


_USED_BY_OTHERS = frozenset(
    {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::Subnet",
        "AWS::EC2::VPC",
        "AWS::EC2::VPCCidrBlock",
        "AWS::KMS::Key",
        "AWS::RDS::DBClusterParameterGroup",
        "AWS::RDS::DBParameterGroup",
        "AWS::RDS::DBSubnetGroup",
    }
)
"""Types that cannot be deleted while something uses them (EC2: DependencyViolation, RDS:
InvalidDBSubnetGroupStateFault), or, for keys, must not be deleted: data encrypted with a deleted key is lost.
Source: document https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (2026-07)
Source: model botocore rds DeleteDBSubnetGroup"""


def undeletable(assembly: Assembly) -> list[str]:
    """Return the reasons why the stacks cannot be deleted one after the other, the last deployed first.

    Reasons: a stack imports a value of a stack deployed later; a retained resource uses a resource that is deleted.
    """
    order = list(assembly.templates)
    late = [
        f"{stack} takes a value of {producer}, which is deployed later"
        for stack, template in assembly.templates.items()
        for producer, _ in assembly.taken(template.get("Resources", {}))
        if order.index(producer) >= order.index(stack)
    ]
    held = [
        f"{resource.place} is retained and holds {used.place}, which is deleted"
        for resource in assembly.resources
        if resource.kept
        for used in assembly.used_by(resource)
        if used.type in _USED_BY_OTHERS and not used.kept
    ]
    return [*dict.fromkeys(late), *held]


def weak_references(assembly: Assembly) -> list[str]:
    """Return references to another stack by `Fn::GetStackOutput`, which can keep an old value.

    The CDK's command line skips a stack whose template is the same, and this is the same text whatever the output's
    value is. With `Fn::ImportValue` CloudFormation rejects to change an export in use: the update fails instead.
    Source: document
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-getstackoutput.html
    (2026-07)
    """
    return [
        f"{stack}.{name} takes a value by a weak reference"
        for stack, template in assembly.templates.items()
        for part in ("Resources", "Outputs")
        for name, body in template.get(part, {}).items()
        if '"Fn::GetStackOutput"' in json.dumps(body)
    ]


EVERY_CHECK = (rules_twice, ways_out_lost, names_twice, undeletable, weak_references, *SILENT_CHECKS)
"""The checks of every assembly."""


def replaced(before: Assembly, after: Assembly) -> set[str]:
    """Return the places of the resources that an update from `before` to `after` replaces or removes.

    A create-only property has another value, or names a resource of the same stack that is replaced. Values with other
    functions are compared as written.
    """
    changed = {
        place
        for place, old in before.by_place.items()
        if (new := after.by_place.get(place)) is None or new.type != old.type or _create_only(new) != _create_only(old)
    }
    while True:
        more = {
            place
            for place, new in after.by_place.items()
            if place not in changed
            and any(f"{new.stack}.{name}" in changed for value in _create_only(new) for name in _names_in(value))
        }
        if not more:
            return changed
        changed |= more


def _create_only(resource: Resource) -> list[Any]:
    facts = create_only(resource.type)
    documented = [tuple(path.split(".")) for path in facts.documented] if facts else []
    paths = [*create_only_paths(resource.type), *documented]
    return [values_at(resource.properties, path) for path in paths]


def _names_in(value: Any) -> Iterator[str]:
    """Yield the logical ids that `value` refers to in its own stack."""
    if isinstance(value, dict):
        known = cast(Json, value)
        named = known.get("Ref") or known.get("Fn::GetAtt") if len(known) == 1 else None
        if named is not None:
            yield named if isinstance(named, str) else named[0]
        value = list(known.values())
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _names_in(one)
