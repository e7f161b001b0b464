"""Subnets and security groups that a fleet names."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses
from typing import Any

from llm_fleet.rules.addresses import ZonePlan
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSubnet:
    """What EC2 says of one subnet."""

    subnet_id: str
    vpc_id: str
    zone: str
    """AZ id."""
    cidr: str
    free: int
    """Addresses that nobody has."""
    held: int = 0
    """Addresses that the fleet itself has already, from an earlier deployment."""


@rule
def check_subnet_place(
    subnet: ExistingSubnet, *, vpc_id: str, zone: str, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the subnet is of another VPC or AZ than the fleet file says."""
    found = {"VPC": (subnet.vpc_id, vpc_id), "AZ": (subnet.zone, zone)}
    for what, (real, reported) in found.items():
        if real != reported:
            yield Problem(
                code=CheckCode.SUBNET_ELSEWHERE,
                path=path,
                message=f"{subnet.subnet_id} is in the {what} {real}, and the fleet file says {reported}",
                value=subnet.subnet_id,
                allowed=f"a subnet of {reported}",
                remedy=f"name a subnet of {reported}: `aws ec2 describe-subnets --filters Name=vpc-id,Values={vpc_id}` "
                "lists them, with AvailabilityZoneId",
            )


@rule
def check_free_addresses(
    subnet: ExistingSubnet, plan: ZonePlan, *, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the subnet has fewer free addresses than the claims of its AZ take.

    As at synth, one node's addresses are kept free for a replacement; those that the fleet holds already count as free.
    """
    needed = plan.addresses + plan.headroom
    free = subnet.free + subnet.held
    if needed <= free:
        return
    takers = [f"{claim.addresses} for {claim.count} x {claim.what} ({claim.owner})" for claim in plan.claims]
    if plan.headroom:
        takers.append(f"{plan.headroom} to replace one while the others run")
    larger = f"a subnet of a /{plan.prefix_needed} that nobody else uses" if plan.prefix_needed else "several subnets"
    yield Problem(
        code=CheckCode.FREE_ADDRESSES,
        path=path,
        message=f"{subnet.subnet_id} in {subnet.zone} has {free} free addresses, and the fleet takes {needed}: "
        f"{', '.join(takers)}",
        value=subnet.cidr,
        allowed=f"{needed} free addresses or more",
        remedy=f"name {larger}, or fewer nodes; `aws ec2 describe-network-interfaces --filters "
        f"Name=subnet-id,Values={subnet.subnet_id}` tells who has the addresses",
    )


@rule
def check_way_out(
    subnet_id: str, targets: Sequence[tuple[str, str]], *, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem for each default route whose target is gone. `targets`: pairs of target and state."""
    for target, state in targets:
        if state == "blackhole":
            yield Problem(
                code=CheckCode.DEAD_ROUTE,
                path=path,
                message=f"the default route of {subnet_id} leads to {target}, which is gone: packets vanish there",
                value=target,
                remedy="let the route lead to a NAT gateway that exists, or take it away and give the VPC endpoints",
            )


@rule
def check_endpoints_of_closed(
    subnet_ids: Sequence[str],
    *,
    needed: Sequence[str],
    there: Collection[str],
    route_tables: Sequence[str],
    vpc_id: str,
    region: str,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return which endpoints a VPC lacks whose subnets have no way to the internet.

    `needed`, `there`: names of interface endpoints, after `com.amazonaws.<region>.`. `route_tables`: those of the
    subnets that do not lead to the gateway endpoint of S3.
    """
    where = ", ".join(subnet_ids)
    missing = [name for name in needed if name not in there]
    command = f"aws ec2 create-vpc-endpoint --vpc-id {vpc_id} --region {region} --service-name com.amazonaws.{region}"
    if missing:
        others = f", and so for {', '.join(missing[1:])}" if missing[1:] else ""
        yield _missing(
            missing,
            f"{where} has no way to the internet, and {vpc_id} has no interface endpoint for {', '.join(missing)}: "
            "nodes cannot reach these services, and the deployment hangs",
            f"run `{command}.{missing[0]} --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids "
            f"{' '.join(subnet_ids)}`{others}, with a security group that lets TCP 443 in from the nodes",
            path,
        )
    if route_tables:
        yield _missing(
            ["s3"],
            f"{where} has no way to the internet, and no route to a gateway endpoint of S3: nodes cannot fetch "
            "their lifecycle scripts",
            f"run `{command}.s3 --vpc-endpoint-type Gateway --route-table-ids {' '.join(route_tables)}`",
            path,
        )


def _missing(names: Sequence[str], message: str, remedy: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(code=CheckCode.ENDPOINT_MISSING, path=path, message=message, value=", ".join(names), remedy=remedy)


def no_such(what: str, thing_id: str, remedy: str, *, path: tuple[PathPart, ...] = ()) -> Problem:
    """Return the problem of a part of a network that is not in this account and region."""
    return Problem(
        code=CheckCode.NETWORK_MISSING,
        path=path,
        message=f"there is no {what} {thing_id} in this account and region",
        value=thing_id,
        remedy=remedy,
    )


@rule
def check_endpoint(
    name: str,
    endpoint_id: str,
    *,
    state: str,
    private_dns: bool,
    lets_in: bool,
    region: str,
    path: tuple[PathPart, ...] = (),
) -> Iterator[Problem]:
    """Return why nodes cannot use an interface endpoint that is there."""
    if state.lower() != "available":
        why, remedy = f"is {state}", "wait until it is available, or make it anew"
    elif not private_dns:
        why = "has no private DNS names, so nodes go past it"
        remedy = (
            f"run `aws ec2 modify-vpc-endpoint --vpc-endpoint-id {endpoint_id} --private-dns-enabled --region {region}`"
        )
    elif not lets_in:
        why = "does not let the nodes' security group in at port 443"
        remedy = "let TCP 443 in from the nodes' security group, in that of the endpoint"
    else:
        return
    yield Problem(
        code=CheckCode.ENDPOINT_UNUSABLE,
        path=path,
        message=f"the endpoint {endpoint_id} of {name} {why}",
        value=endpoint_id,
        remedy=remedy,
    )


_ALL = "-1"
Permission = Mapping[str, Any]
"""One of EC2's `IpPermissions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityGroup:
    """What EC2 says of one security group."""

    group_id: str
    vpc_id: str
    ingress: Sequence[Permission]
    egress: Sequence[Permission]

    def sends(self, port: int, peer: "SecurityGroup", cidrs: Collection[str] = ()) -> bool:
        """Return whether it may open TCP connections to a port of `peer`, whose addresses are in `cidrs`."""
        return any(_permits(rule, port, peer.group_id, cidrs) for rule in self.egress)

    def takes(self, port: int, peer: "SecurityGroup", cidrs: Collection[str] = ()) -> bool:
        """Return whether it lets `peer`, whose addresses are in `cidrs`, in at a TCP port."""
        return any(_permits(rule, port, peer.group_id, cidrs) for rule in self.ingress)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule inward between two existing groups that the deployment makes."""

    group_id: str
    """Whose rule it is."""
    peer_id: str
    """The group that it lets in."""
    protocol: str
    """`tcp`, `udp`, or `-1` for all traffic."""
    ports: tuple[int, int] | None = None
    """The first and the last; `None` for all traffic."""
    path: tuple[PathPart, ...] = ()
    """The key of the fleet file that asks for it."""

    def is_that(self, rule: Mapping[str, Any]) -> bool:
        """Return whether EC2's `SecurityGroupRule` is the same: it refuses a second one, whatever it describes."""
        ports = None if rule["IpProtocol"] == _ALL else (rule["FromPort"], rule["ToPort"])
        return not rule["IsEgress"] and (self.group_id, self.peer_id, self.protocol, self.ports) == (
            rule["GroupId"],
            rule.get("ReferencedGroupInfo", {}).get("GroupId"),
            rule["IpProtocol"],
            ports,
        )


@rule
def check_new_rules(new: Sequence[NewRule], rules: Sequence[Mapping[str, Any]], *, region: str) -> Iterator[Problem]:
    """Return which of the rules that the deployment makes are among `rules` already: one problem a key of the file.

    `rules`: EC2's `SecurityGroupRules`, without those of the fleet's own stacks.
    """
    for path in dict.fromkeys(one.path for one in new):
        requested = [one for one in new if one.path == path]
        there = [(one, rule) for one in requested for rule in rules if one.is_that(rule)]
        if not there:
            continue
        first, rule = there[0]
        all_there = len(there) == len(requested) and path[-1] == "security_group"
        revoke = (
            f"`aws ec2 revoke-security-group-ingress --group-id {first.group_id} --security-group-rule-ids "
            f"{rule['SecurityGroupRuleId']} --region {region}`"
        )
        yield Problem(
            code=CheckCode.RULE_EXISTS,
            path=path,
            message=f"of the {len(requested)} security group rules that the deployment makes for this, {len(there)} "
            f"exist already, e.g. {rule['SecurityGroupRuleId']}, by which {first.group_id} lets {first.peer_id} "
            "in; EC2 refuses a rule that exists (InvalidPermission.Duplicate), and the deployment fails",
            value=first.group_id,
            remedy="leave `security_group` out: the rules are there"
            if all_there
            else f"take those away that exist, the deployment makes them anew: {revoke}",
        )


@rule
def check_group_place(group: SecurityGroup, *, vpc_id: str, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return a problem when the group is of another VPC."""
    if group.vpc_id != vpc_id:
        yield Problem(
            code=CheckCode.SECURITY_GROUP_ELSEWHERE,
            path=path,
            message=f"the security group {group.group_id} is of {group.vpc_id}, and the network is {vpc_id}",
            value=group.group_id,
            allowed=f"a security group of {vpc_id}",
            remedy=f"name one of `aws ec2 describe-security-groups --filters Name=vpc-id,Values={vpc_id}`",
        )


@rule
def check_efa_rules(group: SecurityGroup, *, region: str, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return which of the two rules are missing that EFA needs: all traffic from itself, and to itself.

    EFA's traffic is no IP: a rule by CIDR, even 0.0.0.0/0, does not let it through (HyperPod developer guide). Each
    group of a node must have both rules.
    """
    reported = {"ingress": ("in from", group.ingress), "egress": ("out to", group.egress)}
    for side, (words, rules) in reported.items():
        if not any(rule.get("IpProtocol") == _ALL and group.group_id in _groups_of(rule) for rule in rules):
            yield Problem(
                code=CheckCode.EFA_RULES,
                path=path,
                message=f"the security group {group.group_id} does not let all traffic {words} itself, so EFA does not "
                "work, and nodes fail their health check about twenty minutes into the deployment",
                value=group.group_id,
                allowed=f"a rule of all traffic whose {'source' if side == 'ingress' else 'destination'} is the group "
                "itself; a CIDR, even 0.0.0.0/0, is not enough",
                remedy=f"run `aws ec2 authorize-security-group-{side} --group-id {group.group_id} --ip-permissions "
                f"'IpProtocol=-1,UserIdGroupPairs=[{{GroupId={group.group_id}}}]' --region {region}`",
            )


def check_ports(
    nodes: SecurityGroup,
    server: SecurityGroup,
    ports: Collection[tuple[int, int]],
    *,
    what: str,
    both_ways: bool,
    let_in: bool = False,
    node_cidrs: Collection[str] = (),
    server_cidrs: Collection[str] = (),
    region: str,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return what keeps nodes and the file system `what` apart. `ports`: ranges, first and last.

    `both_ways`: whether the server opens connections to its clients too, as Lustre's does. `let_in`: whether the
    deployment adds the rules inward, so that only what the groups let out is looked at.
    """
    ways = [(nodes, server, node_cidrs, server_cidrs)]
    if both_ways:
        ways.append((server, nodes, server_cidrs, node_cidrs))
    return [
        problem
        for source, target, source_cidrs, target_cidrs in ways
        for problem in _one_way(source, target, source_cidrs, target_cidrs, ports, what, region, path, let_in)
    ]


def _one_way(
    source: SecurityGroup,
    target: SecurityGroup,
    source_cidrs: Collection[str],
    target_cidrs: Collection[str],
    ports: Collection[tuple[int, int]],
    what: str,
    region: str,
    path: tuple[PathPart, ...],
    let_in: bool,
) -> Iterator[Problem]:
    for first, last in ports:
        whole = range(first, last + 1)
        shown = str(first) if first == last else f"{first}-{last}"
        if not all(source.sends(port, target, target_cidrs) for port in whole):
            yield _closed(source, target, shown, "egress", what, region, path)
        if not let_in and not all(target.takes(port, source, source_cidrs) for port in whole):
            yield _closed(target, source, shown, "ingress", what, region, path)


def _closed(
    group: SecurityGroup,
    peer: SecurityGroup,
    ports: str,
    side: str,
    what: str,
    region: str,
    path: tuple[PathPart, ...],
) -> Problem:
    first, _, last = ports.partition("-")
    words = "let TCP {} in from" if side == "ingress" else "send TCP {} to"
    return Problem(
        code=CheckCode.FILE_SYSTEM_PORTS,
        path=path,
        message=f"{group.group_id} does not {words.format(ports)} {peer.group_id}, so {what} cannot be mounted",
        value=group.group_id,
        allowed=f"TCP {ports}",
        remedy=f"run `aws ec2 authorize-security-group-{side} --group-id {group.group_id} --ip-permissions "
        f"'IpProtocol=tcp,FromPort={first},ToPort={last or first},UserIdGroupPairs=[{{GroupId={peer.group_id}}}]' "
        f"--region {region}`",
    )


def _permits(rule: Permission, port: int, peer: str, cidrs: Collection[str]) -> bool:
    protocol = rule.get("IpProtocol")
    if protocol != _ALL and not (protocol == "tcp" and rule["FromPort"] <= port <= rule["ToPort"]):
        return False
    return peer in _groups_of(rule) or _covers(rule, cidrs)


def _covers(rule: Permission, cidrs: Collection[str]) -> bool:
    ranges = list(collapse_addresses(IPv4Network(item["CidrIp"], strict=False) for item in rule.get("IpRanges", ())))
    if not cidrs:  # Nobody knows where the peer is: only the whole of the address space surely covers it.
        return any(block.prefixlen == 0 for block in ranges)
    return all(any(IPv4Network(cidr).subnet_of(block) for block in ranges) for cidr in cidrs)


def _groups_of(rule: Permission) -> set[str]:
    return {str(pair["GroupId"]) for pair in rule.get("UserIdGroupPairs", ())}
