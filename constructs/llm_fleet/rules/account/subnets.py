"""Existing subnets, routes, VPC endpoints and security groups of a fleet."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses
from typing import Any

from llm_fleet.rules.addresses import ZonePlan
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSubnet:
    """One subnet, as DescribeSubnets returns it."""

    subnet_id: str
    vpc_id: str
    zone: str
    """AZ ID."""
    cidr: str
    free: int
    """Free addresses."""
    held: int = 0
    """Addresses that the fleet uses already, from an earlier deployment."""


@rule
def check_subnet_place(
    subnet: ExistingSubnet, *, vpc_id: str, zone: str, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the subnet is in another VPC or AZ than the fleet file says."""
    found = {"VPC": (subnet.vpc_id, vpc_id), "AZ": (subnet.zone, zone)}
    for what, (real, reported) in found.items():
        if real != reported:
            yield Problem(
                code=CheckCode.SUBNET_ELSEWHERE,
                path=path,
                message=f"{subnet.subnet_id} is in the {what} {real}, but the fleet file says {reported}",
                value=subnet.subnet_id,
                allowed=f"a subnet of {reported}",
                remedy=f"write a subnet of {reported}: `aws ec2 describe-subnets --filters "
                f"Name=vpc-id,Values={vpc_id}` "
                "lists them, with AvailabilityZoneId",
            )


@rule
def check_free_addresses(
    subnet: ExistingSubnet, plan: ZonePlan, *, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem when the subnet has fewer free addresses than the fleet requires in its AZ.

    As at synth, the addresses of one node are kept free for a replacement. Addresses of the fleet itself count as free.
    """
    needed = plan.addresses + plan.headroom
    free = subnet.free + subnet.held
    if needed <= free:
        return
    takers = [f"{claim.addresses} for {claim.count} x {claim.what} ({claim.owner})" for claim in plan.claims]
    if plan.headroom:
        takers.append(f"{plan.headroom} to replace a node while the others run")
    larger = f"an unused subnet of size /{plan.prefix_needed}" if plan.prefix_needed else "several subnets"
    yield Problem(
        code=CheckCode.FREE_ADDRESSES,
        path=path,
        message=f"{subnet.subnet_id} in {subnet.zone} has {free} free addresses, but the fleet requires {needed}: "
        f"{', '.join(takers)}",
        value=subnet.cidr,
        allowed=f"{needed} free addresses or more",
        remedy=f"write {larger}, or fewer nodes; `aws ec2 describe-network-interfaces --filters "
        f"Name=subnet-id,Values={subnet.subnet_id}` lists what uses the addresses",
    )


@rule
def check_way_out(
    subnet_id: str, targets: Sequence[tuple[str, str]], *, path: tuple[PathPart, ...] = ()
) -> Iterator[Problem]:
    """Return a problem for each default route whose target was deleted. `targets`: pairs of target and state."""
    for target, state in targets:
        if state == "blackhole":
            yield Problem(
                code=CheckCode.DEAD_ROUTE,
                path=path,
                message=f"the default route of {subnet_id} has the target {target}, which was deleted: traffic "
                "is dropped (blackhole)",
                value=target,
                remedy="point the route to an existing NAT gateway, or remove it and add VPC endpoints",
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
    """Return the VPC endpoints that are missing in a VPC whose subnets have no internet access.

    `needed`, `there`: names of required and existing interface endpoints, after `com.amazonaws.<region>.`.
    `route_tables`: those of the subnets without a route to the S3 gateway endpoint.
    """
    where = ", ".join(subnet_ids)
    missing = [name for name in needed if name not in there]
    command = f"aws ec2 create-vpc-endpoint --vpc-id {vpc_id} --region {region} --service-name com.amazonaws.{region}"
    if missing:
        others = f", and the same for {', '.join(missing[1:])}" if missing[1:] else ""
        yield _missing(
            missing,
            f"{where} has no internet access, and {vpc_id} has no interface endpoint for {', '.join(missing)}: "
            "nodes cannot reach these services, and the deployment hangs",
            f"run `{command}.{missing[0]} --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids "
            f"{' '.join(subnet_ids)}`{others}, with a security group that allows TCP 443 from the nodes",
            path,
        )
    if route_tables:
        yield _missing(
            ["s3"],
            f"{where} has no internet access, and no route to an S3 gateway endpoint: nodes cannot download "
            "their lifecycle scripts",
            f"run `{command}.s3 --vpc-endpoint-type Gateway --route-table-ids {' '.join(route_tables)}`",
            path,
        )


def _missing(names: Sequence[str], message: str, remedy: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(code=CheckCode.ENDPOINT_MISSING, path=path, message=message, value=", ".join(names), remedy=remedy)


def no_such(what: str, thing_id: str, remedy: str, *, path: tuple[PathPart, ...] = ()) -> Problem:
    """Return a problem for a part of a network that does not exist in this account and region."""
    return Problem(
        code=CheckCode.NETWORK_MISSING,
        path=path,
        message=f"the {what} {thing_id} does not exist in this account and region",
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
    """Return why nodes cannot use an existing interface endpoint."""
    if state.lower() != "available":
        why, remedy = f"is {state}", "wait until it is available, or create it again"
    elif not private_dns:
        why = "has no private DNS names, so nodes do not use it"
        remedy = (
            f"run `aws ec2 modify-vpc-endpoint --vpc-endpoint-id {endpoint_id} --private-dns-enabled --region {region}`"
        )
    elif not lets_in:
        why = "does not allow traffic from the nodes' security group to port 443"
        remedy = "allow TCP 443 from the nodes' security group in that of the endpoint"
    else:
        return
    yield Problem(
        code=CheckCode.ENDPOINT_UNUSABLE,
        path=path,
        message=f"the VPC endpoint {endpoint_id} of {name} {why}",
        value=endpoint_id,
        remedy=remedy,
    )


_ALL = "-1"
Permission = Mapping[str, Any]
"""One of EC2's `IpPermissions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityGroup:
    """One security group, as DescribeSecurityGroups returns it."""

    group_id: str
    vpc_id: str
    ingress: Sequence[Permission]
    egress: Sequence[Permission]

    def sends(self, port: int, peer: "SecurityGroup", cidrs: Collection[str] = ()) -> bool:
        """Return whether it allows outbound TCP connections to a port of `peer`, whose addresses are in `cidrs`."""
        return any(_permits(rule, port, peer.group_id, cidrs) for rule in self.egress)

    def takes(self, port: int, peer: "SecurityGroup", cidrs: Collection[str] = ()) -> bool:
        """Return whether it allows inbound traffic of `peer`, whose addresses are in `cidrs`, to a TCP port."""
        return any(_permits(rule, port, peer.group_id, cidrs) for rule in self.ingress)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule of an existing security group that the deployment creates."""

    group_id: str
    """The security group that has the rule."""
    peer_id: str
    """The source security group; of an egress rule the destination, a security group or a CIDR block."""
    protocol: str
    """`tcp`, `udp`, or `-1` for all traffic."""
    ports: tuple[int, int] | None = None
    """The first and the last port; `None` for all traffic."""
    path: tuple[PathPart, ...] = ()
    """The key of the fleet file that requires it."""
    egress: bool = False

    @property
    def side(self) -> str:
        """`ingress` or `egress`, as in commands of the AWS CLI."""
        return "egress" if self.egress else "ingress"

    def is_that(self, rule: Mapping[str, Any]) -> bool:
        """Return whether EC2's `SecurityGroupRule` is the same rule, of which EC2 rejects a duplicate."""
        ports = None if rule["IpProtocol"] == _ALL else (rule["FromPort"], rule["ToPort"])
        return (self.egress, self.group_id, self.peer_id, self.protocol, self.ports) == (
            rule["IsEgress"],
            rule["GroupId"],
            rule.get("ReferencedGroupInfo", {}).get("GroupId") or rule.get("CidrIpv4"),
            rule["IpProtocol"],
            ports,
        )


@rule
def check_new_rules(new: Sequence[NewRule], rules: Sequence[Mapping[str, Any]], *, region: str) -> Iterator[Problem]:
    """Return one problem for each key of the fleet file whose rules are among `rules` already.

    `rules`: EC2's `SecurityGroupRules`, without those that the fleet's stacks made.
    """
    for path in dict.fromkeys(one.path for one in new):
        requested = [one for one in new if one.path == path]
        there = [(one, rule) for one in requested for rule in rules if one.is_that(rule)]
        if not there:
            continue
        first, rule = there[0]
        all_there = len(there) == len(requested) and path[-1] == "security_group" and path[0] != "network"
        ways = (first.group_id, first.peer_id) if first.egress else (first.peer_id, first.group_id)
        revoke = (
            f"`aws ec2 revoke-security-group-{first.side} --group-id {first.group_id} --security-group-rule-ids "
            f"{rule['SecurityGroupRuleId']} --region {region}`"
        )
        yield Problem(
            code=CheckCode.RULE_EXISTS,
            path=path,
            message=f"of the {len(requested)} security group rules that the deployment creates for this, {len(there)} "
            f"exist already, e.g. {rule['SecurityGroupRuleId']}, from {ways[0]} to {ways[1]}"
            ". EC2 rejects a duplicate rule (InvalidPermission.Duplicate), and the deployment fails",
            value=first.group_id,
            remedy="remove `security_group`: the rules exist already"
            if all_there
            else f"remove the existing rules, and the deployment creates them: {revoke}",
        )


@rule
def check_group_place(group: SecurityGroup, *, vpc_id: str, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return a problem when the security group is in another VPC."""
    if group.vpc_id != vpc_id:
        yield Problem(
            code=CheckCode.SECURITY_GROUP_ELSEWHERE,
            path=path,
            message=f"the security group {group.group_id} is in {group.vpc_id}, but the network is {vpc_id}",
            value=group.group_id,
            allowed=f"a security group of {vpc_id}",
            remedy=f"write one of `aws ec2 describe-security-groups --filters Name=vpc-id,Values={vpc_id}`",
        )


@rule
def check_efa_rules(group: SecurityGroup, *, region: str, path: tuple[PathPart, ...] = ()) -> Iterator[Problem]:
    """Return which of the two rules that EFA requires are missing: all traffic from itself, and all traffic to itself.

    EFA traffic is not IP traffic: a CIDR rule, even 0.0.0.0/0, does not allow it (HyperPod developer guide). Each
    group of a node must have both rules.
    """
    reported = {"ingress": ("from", group.ingress), "egress": ("to", group.egress)}
    for side, (words, rules) in reported.items():
        if not any(rule.get("IpProtocol") == _ALL and group.group_id in _groups_of(rule) for rule in rules):
            yield Problem(
                code=CheckCode.EFA_RULES,
                path=path,
                message=f"the security group {group.group_id} does not allow all traffic {words} itself, so EFA "
                "does not "
                "work, and nodes fail their health check about 20 minutes into the deployment",
                value=group.group_id,
                allowed=f"a rule for all traffic whose {'source' if side == 'ingress' else 'destination'} is the group "
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
    """Return missing security group rules between nodes and file system `what`. `ports`: first and last of each range.

    `both_ways`: whether the server opens connections to its clients, too, as Lustre does. `let_in`: whether the
    deployment adds the ingress rules, so that only the egress rules are checked.
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
    words = "allow TCP {} from" if side == "ingress" else "allow TCP {} to"
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
    if not cidrs:  # The address of the peer is unknown: only a rule for the whole address space covers it.
        return any(block.prefixlen == 0 for block in ranges)
    return all(any(IPv4Network(cidr).subnet_of(block) for block in ranges) for cidr in cidrs)


def _groups_of(rule: Permission) -> set[str]:
    return {str(pair["GroupId"]) for pair in rule.get("UserIdGroupPairs", ())}
