"""Responses of an account about an existing network, and the expected reports."""

from typing import Any

from llm_fleet.rules.account.subnets import (
    ExistingSubnet,
    NewRule,
    SecurityGroup,
    check_efa_rules,
    check_endpoint,
    check_endpoints_of_closed,
    check_free_addresses,
    check_group_place,
    check_new_rules,
    check_ports,
    check_subnet_place,
    check_way_out,
)
from llm_fleet.rules.addresses import AddressClaim, ZonePlan
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import Problem
from tests.rules.account.cases import REGION, Case

_CLAIM = AddressClaim(owner="train/trn1", what="ml.trn1.32xlarge", count=4, addresses_each=8, replaceable=True)
_PLAN = ZonePlan(availability_zone_id="usw2-az4", claims=(_CLAIM,), subnet_cidr=None)


def subnet(**changed: Any) -> ExistingSubnet:
    given: dict[str, Any] = {
        "subnet_id": "subnet-1",
        "vpc_id": "vpc-1",
        "zone": "usw2-az4",
        "cidr": "10.0.0.0/24",
        "free": 40,
    }
    return ExistingSubnet(**{**given, **changed})


def place(**changed: Any) -> list[Problem]:
    return check_subnet_place(subnet(**changed), vpc_id="vpc-1", zone="usw2-az4")


def closed(there: set[str], route_tables: list[str]) -> list[Problem]:
    return check_endpoints_of_closed(
        ["subnet-1"], needed=["ssm", "logs"], there=there, route_tables=route_tables, vpc_id="vpc-1", region=REGION
    )


def endpoint(**changed: Any) -> list[Problem]:
    given: dict[str, Any] = {"state": "available", "private_dns": True, "lets_in": True, "region": REGION}
    return check_endpoint("ssm", "vpce-1", **{**given, **changed})


SUBNETS = [
    Case("4 nodes of 8 addresses, one to replace, 40 free", check_free_addresses(subnet(), _PLAN)),
    Case(
        "one address too few",
        check_free_addresses(subnet(free=39), _PLAN),
        CheckCode.FREE_ADDRESSES,
        "has 39 free addresses, but the fleet requires 40",
        "32 for 4 x ml.trn1.32xlarge",
        "size /26,",
    ),
    Case("the fleet has them already", check_free_addresses(subnet(free=8, held=32), _PLAN)),
    Case("right place", place()),
    Case(
        "another AZ",
        place(zone="usw2-az1"),
        CheckCode.SUBNET_ELSEWHERE,
        "subnet-1 is in the AZ usw2-az1, but the fleet file says usw2-az4",
    ),
    Case("another VPC", place(vpc_id="vpc-2"), CheckCode.SUBNET_ELSEWHERE, "the VPC vpc-2"),
    Case("NAT that is there", check_way_out("subnet-1", [("nat-1", "active")])),
    Case(
        "NAT that is gone",
        check_way_out("subnet-1", [("nat-1", "blackhole")]),
        CheckCode.DEAD_ROUTE,
        "the default route of subnet-1 has the target nat-1, which was deleted: traffic is dropped (blackhole)",
    ),
    Case("all endpoints", closed({"ssm", "logs"}, [])),
    Case(
        "one interface endpoint missing",
        closed({"ssm"}, []),
        CheckCode.ENDPOINT_MISSING,
        "no interface endpoint for logs",
        "--service-name com.amazonaws.us-west-2.logs",
    ),
    Case(
        "no S3",
        closed({"ssm", "logs"}, ["rtb-1"]),
        CheckCode.ENDPOINT_MISSING,
        "no route to an S3 gateway endpoint:",
        "--vpc-endpoint-type Gateway --route-table-ids rtb-1",
    ),
    Case("usable", endpoint()),
    Case("pending", endpoint(state="pendingAcceptance"), CheckCode.ENDPOINT_UNUSABLE, "is pending"),
    Case(
        "no private names",
        endpoint(private_dns=False),
        CheckCode.ENDPOINT_UNUSABLE,
        "modify-vpc-endpoint --vpc-endpoint-id vpce-1 --private-dns-enabled",
    ),
    Case("shut", endpoint(lets_in=False), CheckCode.ENDPOINT_UNUSABLE, "to port 443"),
]


def to(*groups: str, cidrs: tuple[str, ...] = (), ports: tuple[int, int] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "IpProtocol": "-1" if ports is None else "tcp",
        "UserIdGroupPairs": [{"GroupId": group} for group in groups],
        "IpRanges": [{"CidrIp": cidr} for cidr in cidrs],
    }
    return rule if ports is None else {**rule, "FromPort": ports[0], "ToPort": ports[1]}


def group(name: str, ingress: list[dict[str, Any]], egress: list[dict[str, Any]]) -> SecurityGroup:
    return SecurityGroup(group_id=name, vpc_id="vpc-1", ingress=ingress, egress=egress)


def efa(ingress: list[dict[str, Any]], egress: list[dict[str, Any]]) -> list[Problem]:
    return check_efa_rules(group("sg-1", ingress, egress), region=REGION)


def lustre(
    nodes: SecurityGroup, server: SecurityGroup, *, both_ways: bool = True, let_in: bool = False
) -> list[Problem]:
    return check_ports(
        nodes,
        server,
        [(988, 988)],
        what="fs-1",
        both_ways=both_ways,
        let_in=let_in,
        node_cidrs=["10.0.1.0/24"],
        server_cidrs=["10.0.2.0/24"],
        region=REGION,
    )


_ANY = [to(cidrs=("0.0.0.0/0",))]
GROUPS = [
    Case("EFA passes", efa([to("sg-1")], [to("sg-1"), *_ANY])),
    Case(
        "what the CDK makes by default: all out, but not to itself",
        efa([to("sg-1")], _ANY),
        CheckCode.EFA_RULES,
        "sg-1 does not allow all traffic to itself, so EFA does not work",
        "aws ec2 authorize-security-group-egress --group-id sg-1",
        "a CIDR, even 0.0.0.0/0, is not enough",
    ),
    Case("not in", efa(_ANY, [to("sg-1")]), CheckCode.EFA_RULES, "from itself", "authorize-security-group-ingress"),
    Case("TCP only", efa([to("sg-1", ports=(0, 65535))], [to("sg-1")]), CheckCode.EFA_RULES, "from itself"),
    Case("our VPC", check_group_place(group("sg-1", [], []), vpc_id="vpc-1")),
    Case(
        "another VPC",
        check_group_place(group("sg-1", [], []), vpc_id="vpc-2"),
        CheckCode.SECURITY_GROUP_ELSEWHERE,
        "sg-1 is in vpc-1, but the network is vpc-2",
    ),
    Case("Lustre, by group", lustre(group("n", [to("s")], _ANY), group("s", [to("n")], _ANY))),
    Case(
        "Lustre, by addresses",
        lustre(
            group("n", [to(cidrs=("10.0.2.0/24",))], [to(cidrs=("10.0.0.0/16",), ports=(900, 1000))]),
            group("s", [to(cidrs=("10.0.1.0/24",), ports=(988, 988))], [to(cidrs=("10.0.0.0/8",))]),
        ),
    ),
    Case(
        "Lustre's server does not let the nodes in",
        lustre(group("n", [to("s")], _ANY), group("s", [], _ANY)),
        CheckCode.FILE_SYSTEM_PORTS,
        "s does not allow TCP 988 from n, so fs-1 cannot be mounted",
        "'IpProtocol=tcp,FromPort=988,ToPort=988,UserIdGroupPairs=[{GroupId=n}]'",
    ),
    Case(
        "Lustre's server cannot call back",
        lustre(group("n", [], _ANY), group("s", [to("n")], _ANY)),
        CheckCode.FILE_SYSTEM_PORTS,
        "n does not allow TCP 988 from s",
    ),
    Case("NFS's need not", lustre(group("n", [], _ANY), group("s", [to("n")], _ANY), both_ways=False)),
    Case("the deployment lets in", lustre(group("n", [], _ANY), group("s", [], _ANY), let_in=True)),
    Case(
        "all addresses in two halves",
        lustre(group("n", [to("s")], [to(cidrs=("0.0.0.0/1", "128.0.0.0/1"))]), group("s", [to("n")], _ANY)),
    ),
    Case(
        "the deployment lets in, and out goes nothing",
        lustre(group("n", [], []), group("s", [], _ANY), let_in=True),
        CheckCode.FILE_SYSTEM_PORTS,
        "n does not allow TCP 988 to s",
        "authorize-security-group-egress",
    ),
    Case(
        "half of the nodes' addresses",
        lustre(group("n", [to("s")], _ANY), group("s", [to(cidrs=("10.0.1.0/25",))], _ANY)),
        CheckCode.FILE_SYSTEM_PORTS,
        "s does not allow TCP 988 from n",
    ),
]


def there(
    group: str, peer: str, ports: tuple[int, int] | None = None, *, egress: bool = False, words: str = ""
) -> dict[str, Any]:
    """A `SecurityGroupRule` as returned by EC2."""
    return {
        "SecurityGroupRuleId": f"sgr-{group}-{peer}",
        "GroupId": group,
        "IsEgress": egress,
        "IpProtocol": "tcp" if ports else "-1",
        "FromPort": ports[0] if ports else -1,
        "ToPort": ports[1] if ports else -1,
        "ReferencedGroupInfo": {"GroupId": peer},
        "Description": words,
    }


_FSX = ("storage", "fsx", "existing", "security_group")
_OWN = ("clusters", "a", "groups", "trn1", "security_groups")
_NEW = [
    NewRule(group_id="s", peer_id="n", protocol="tcp", ports=(988, 988), path=_FSX),
    NewRule(group_id="n", peer_id="s", protocol="tcp", ports=(988, 988), path=_FSX),
    NewRule(group_id="own", peer_id="n", protocol="-1", path=_OWN),
]


_KEPT = ("network", "existing", "security_group")
_OUT = [
    NewRule(group_id="kept", peer_id=half, protocol="-1", path=_KEPT, egress=True)
    for half in ("0.0.0.0/1", "128.0.0.0/1")
]


def out(cidr: str, **changed: Any) -> dict[str, Any]:
    """An egress rule to addresses."""
    rule: dict[str, Any] = {**there("kept", "", egress=True), "ReferencedGroupInfo": {}, "CidrIpv4": cidr}
    return {**rule, **changed}


def new(*rules: dict[str, Any]) -> list[Problem]:
    return check_new_rules(_NEW, rules, region=REGION)


NEW_RULES = [
    Case("no rules", new()),
    Case(
        "other rules",
        new(
            there("s", "n", (988, 989)),
            there("s", "n"),
            there("s", "other", (988, 988)),
            there("s", "n", (988, 988), egress=True),
            there("own", "n", (1, 2)),
            {"IsEgress": False, "GroupId": "s", "IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "CidrIpv4": "::"},
        ),
    ),
    Case(
        "all of a file system's",
        new(there("s", "n", (988, 988), words="by hand"), there("n", "s", (988, 988))),
        CheckCode.RULE_EXISTS,
        "2 exist already, e.g. sgr-s-n",
        "InvalidPermission.Duplicate",
        "remove `security_group`:",
    ),
    Case(
        "one of a file system's",
        new(there("n", "s", (988, 988))),
        CheckCode.RULE_EXISTS,
        "1 exist already",
        "revoke-security-group-ingress --group-id n --security-group-rule-ids sgr-n-s",
    ),
    Case(
        "other rules of a retained group",
        check_new_rules(_OUT, [out("0.0.0.0/0"), out("0.0.0.0/1", IsEgress=False)], region=REGION),
    ),
    Case(
        "rules of a retained group, which must be named",
        check_new_rules(_OUT, [out("0.0.0.0/1"), out("128.0.0.0/1")], region=REGION),
        CheckCode.RULE_EXISTS,
        "2 exist already",
        "from kept to 0.0.0.0/1",
        "revoke-security-group-egress --group-id kept",
    ),
    Case(
        "a group's own, which has no key to leave out",
        new(there("own", "n")),
        CheckCode.RULE_EXISTS,
        "sgr-own-n",
        "revoke-security-group-ingress --group-id own",
    ),
]
