"""What no single template shows: mistakes between the stacks of one assembly. Each check returns its findings."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.assembly.assembly import Assembly, Json, Resource

_INWARD, _OUTWARD = "in", "out"
_PEERS = ("CidrIp", "CidrIpv6", "SourcePrefixListId", "DestinationPrefixListId")
_GROUP_PEERS = ("SourceSecurityGroupId", "DestinationSecurityGroupId")
_ANYWHERE: Json = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}


def rules_twice(assembly: Assembly) -> list[str]:
    """Return each security group rule that is made more than once, with the places that make it.

    EC2 tells rules apart by group, direction, peer, protocol and ports, and not by their description.
    Source: document https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    (`InvalidPermission.Duplicate`: "the specified inbound or outbound rule already exists for that security group").
    """
    made: dict[str, list[str]] = defaultdict(list)
    for resource in assembly.resources:
        for rule in _rules(assembly, resource):
            made[rule].append(resource.place)
    return [f"{rule}: {', '.join(places)}" for rule, places in sorted(made.items()) if len(places) > 1]


def _rules(assembly: Assembly, resource: Resource) -> Iterator[str]:
    told = resource.properties
    match resource.type:
        case "AWS::EC2::SecurityGroupIngress":
            yield _rule(assembly, resource.stack, told["GroupId"], _INWARD, told)
        case "AWS::EC2::SecurityGroupEgress":
            yield _rule(assembly, resource.stack, told["GroupId"], _OUTWARD, told)
        case "AWS::EC2::SecurityGroup":
            own = {"Ref": resource.logical_id}
            for inward in told.get("SecurityGroupIngress", []):
                yield _rule(assembly, resource.stack, own, _INWARD, inward)
            # A group for which no rule outward is given lets everything out.
            for outward in told.get("SecurityGroupEgress", [_ANYWHERE]):
                yield _rule(assembly, resource.stack, own, _OUTWARD, outward)
        case _:
            pass


def _rule(assembly: Assembly, stack: str, group: Any, direction: str, told: Json) -> str:
    peer = next(told[name] for name in (*_PEERS, *_GROUP_PEERS) if name in told)
    protocol = str(told["IpProtocol"]).lower()
    # With all protocols EC2 takes no ports: it ignores those that are given.
    ports = () if protocol == "-1" else (told.get("FromPort"), told.get("ToPort"))
    return json.dumps([assembly.resolve(group, stack), direction, assembly.resolve(peer, stack), protocol, *ports])
