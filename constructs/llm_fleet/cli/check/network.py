"""Checks an existing network: subnets, routes and endpoints, security groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.fsx import lustre_limits, open_zfs_limits
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.cli.check.network_parts import ask_missing_parts
from llm_fleet.cli.check.question import Account, Answer, Question, Topic, own_ids
from llm_fleet.fleet_file.check_network import address_plan, endpoint_features
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.machines import machines_of
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
    check_subnet_place,
    check_way_out,
    no_such,
)
from llm_fleet.rules.network import interface_endpoints
from llm_fleet.rules.network_layout import ANYWHERE
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec

_Range = tuple[str, tuple[int, int] | None]
"""Protocol and ports."""
_ALL: _Range = ("-1", None)


def security_group(account: Account, group_id: str) -> SecurityGroup | None:
    """Return a security group; `None` if it does not exist. Raises `AwsRefusal` if EC2 refuses the call."""
    found = account.find("ec2", "describe_security_groups", GroupIds=[group_id]).get("SecurityGroups")
    if not found:
        return None
    reported = found[0]
    return SecurityGroup(
        group_id=group_id,
        vpc_id=reported["VpcId"],
        ingress=reported["IpPermissions"],
        egress=reported["IpPermissionsEgress"],
    )


def new_rules(fleet: Fleet) -> list[NewRule]:
    """Return the rules that the deployment adds to existing security groups, without duplicates."""
    ingress = (*_of_file_systems(fleet), *_of_accounting(fleet), *_of_groups(fleet))
    found = (*ingress, *_of_retained(fleet, ingress))
    return list({replace(one, path=()): one for one in reversed(found)}.values())[::-1]


def _of_retained(fleet: Fleet, ingress: Sequence[NewRule]) -> Iterator[NewRule]:
    """Yield the egress rules of `network.existing.security_group`; a group in `network.vpc` gets none."""
    existing = fleet.network.existing if fleet.network is not None else None
    if fleet.network is None or existing is None or existing.security_group is None:
        return
    group, https = existing.security_group, fleet.network.internet is InternetAccess.NONE
    protocol, ports = ("tcp", (_HTTPS, _HTTPS)) if https else _ALL
    path = ("network", "existing", "security_group")
    for half in ANYWHERE:
        yield NewRule(group_id=group, peer_id=half, protocol=protocol, ports=ports, path=path, egress=True)
    for one in ingress:
        if one.peer_id == group:
            yield replace(one, group_id=group, peer_id=one.group_id, egress=True)


def _of_file_systems(fleet: Fleet) -> Iterator[NewRule]:
    fsx = fleet.storage.fsx.existing if fleet.storage.fsx is not None else None
    home = fleet.storage.home.existing if fleet.storage.home is not None else None
    if fsx is not None and fsx.security_group_id is not None:
        ranges = [_ALL] if fsx.efa_enabled else [("tcp", ports) for ports in lustre_limits().ports]
        for client in _nodes(fleet):
            yield from _let_in(fsx.security_group_id, client, ranges, ("storage", "fsx", "existing"))
            yield from _let_in(client, fsx.security_group_id, ranges, ("storage", "fsx", "existing"))
    if home is not None and home.security_group_id is not None:
        ranges = [(protocol, ports) for protocol in ("tcp", "udp") for ports in open_zfs_limits().ports]
        for client in _nodes(fleet):
            yield from _let_in(home.security_group_id, client, ranges, ("storage", "home", "existing"))


def _of_accounting(fleet: Fleet) -> Iterator[NewRule]:
    for name, hyperpod in fleet.hyperpod_clusters.items():
        database = hyperpod.accounting_database
        if database is not None and not database.of_fleet and isinstance(database.connections, str):
            port = database.effective_port
            for client in _nodes(fleet, name):
                ranges = [("tcp", (port, port))]
                yield from _let_in(database.connections, client, ranges, ("clusters", name, "accounting"))
    for name, cluster in fleet.parallelclusters.items():
        accounting = cluster.accounting
        if accounting is not None and not accounting.of_fleet and isinstance(accounting.connections, str):
            port = accounting.effective_port or slurm_database_facts().port
            for client in _nodes(fleet)[:1] if _of_network(fleet) else ():
                ranges = [("tcp", (port, port))]
                yield from _let_in(accounting.connections, client, ranges, ("clusters", name, "accounting"))


def _of_groups(fleet: Fleet) -> Iterator[NewRule]:
    for name, cluster in fleet.hyperpod_clusters.items():
        places = {
            group_id: ("clusters", name, "groups", group.name, "security_groups")
            for group in cluster.groups
            for group_id in group.security_group_ids
        }
        for pair in combinations(_nodes(fleet, name), 2):
            path = places.get(pair[1], places.get(pair[0], ()))
            for group_id, peer in permutations(pair):
                yield NewRule(group_id=group_id, peer_id=peer, protocol="-1", path=path)


def _let_in(group_id: str, peer: str, ranges: Sequence[_Range], path: tuple[PathPart, ...]) -> Iterator[NewRule]:
    if group_id != peer:
        for protocol, ports in ranges:
            yield NewRule(
                group_id=group_id, peer_id=peer, protocol=protocol, ports=ports, path=(*path, "security_group")
            )


def _nodes(fleet: Fleet, cluster: str | None = None) -> list[str]:
    """Return the existing security groups of nodes, the network's first; of all clusters unless one is named."""
    clusters = fleet.hyperpod_clusters
    chosen = clusters.values() if cluster is None else [clusters[cluster]]
    own = [one for each in chosen for group in each.groups for one in group.security_group_ids]
    return list(dict.fromkeys([*_of_network(fleet), *own]))


def _of_network(fleet: Fleet) -> list[str]:
    group = fleet.network.existing_security_group if fleet.network is not None else None
    return [group[0]] if group is not None else []


_PATH: tuple[PathPart, ...] = ("network", "vpc", "subnets")
_HTTPS = 443
_TARGETS = ("NatGatewayId", "GatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId")


def _ask_ways_out(fleet: Fleet, existing: ExistingNetworkSpec, account: Account) -> Answer:
    """Check all compute subnets of the network together."""
    tables = _route_tables(account, existing)
    if not tables:
        missing = no_such(
            "VPC",
            existing.vpc_id,
            f"write an id that `aws ec2 describe-vpcs --region {account.region}` lists",
            path=("network", "vpc", "id"),
        )
        return Answer(detail="the VPC does not exist", problems=[missing])
    closed: list[str] = []
    problems: list[Problem] = []
    shown: list[str] = []
    for subnet_id, table in tables.items():
        targets = _default_targets(table)
        problems += check_way_out(subnet_id, targets, path=_PATH)
        shown += [f"{subnet_id} routes to {target}" for target, _ in targets]
        if not targets:
            closed.append(subnet_id)
    if closed:
        shown.append(
            f"{', '.join(closed)} uses endpoints only"
            if len(closed) == 1
            else f"{', '.join(closed)} use endpoints only"
        )
        problems += _endpoints(account, fleet, existing, [tables[one] for one in closed], closed)
    return Answer(detail="; ".join(shown), problems=problems)


def _route_tables(account: Account, existing: ExistingNetworkSpec) -> dict[str, dict[str, Any]]:
    """Return the route table of each compute subnet: its own, or the VPC's main one; empty without a VPC."""
    filters = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    tables = account.ask("ec2", "describe_route_tables", Filters=filters)["RouteTables"]
    if not tables:  # Each VPC has one.
        return {}
    main: dict[str, Any] = {"Routes": [], "RouteTableId": ""}
    own: dict[str, dict[str, Any]] = {}
    for table in tables:
        for association in table["Associations"]:
            if association.get("Main"):
                main = table
            elif association.get("SubnetId"):
                own[association["SubnetId"]] = table
    return {subnet_id: own.get(subnet_id, main) for subnet_id in existing.subnet_ids.values()}


def _default_targets(table: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (next((str(route[name]) for name in _TARGETS if route.get(name)), "nothing"), route.get("State", "active"))
        for route in table["Routes"]
        if route.get("DestinationCidrBlock") == "0.0.0.0/0"
    ]


def _endpoints(
    account: Account,
    fleet: Fleet,
    existing: ExistingNetworkSpec,
    tables: list[dict[str, Any]],
    closed: list[str],
) -> list[Problem]:
    filters = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    reported = account.ask("ec2", "describe_vpc_endpoints", Filters=filters)["VpcEndpoints"]
    interfaces = {_name(account, one): one for one in reported if one["VpcEndpointType"] == "Interface"}
    routed = {
        table
        for one in reported
        if one["VpcEndpointType"] == "Gateway" and _name(account, one) == "s3"
        for table in one["RouteTableIds"]
    }
    needed = interface_endpoints(InternetAccess.NONE, _features(fleet))
    problems = check_endpoints_of_closed(
        closed,
        needed=needed,
        there=interfaces,
        route_tables=sorted({one["RouteTableId"] for one in tables} - routed),
        vpc_id=existing.vpc_id,
        region=account.region,
        path=_PATH,
    )
    for name in needed:
        if name in interfaces:
            problems += _usable(account, existing, name, interfaces[name])
    return problems


def _features(fleet: Fleet) -> set[EndpointFeature]:
    """Return the AWS calls of the fleet as in a closed network: an existing one may be closed."""
    features = set(endpoint_features(fleet))
    if fleet.services:
        features.add(EndpointFeature.INFERENCE)
    if fleet.notebooks or fleet.studio is not None:
        features.add(EndpointFeature.SAGEMAKER_WORK)
    return features


def _usable(account: Account, existing: ExistingNetworkSpec, name: str, endpoint: dict[str, Any]) -> list[Problem]:
    nodes = security_group(account, existing.security_group_id) if existing.security_group_id else None
    groups = [security_group(account, group["GroupId"]) for group in endpoint.get("Groups", ())]
    lets_in = nodes is None or any(
        group is not None and group.takes(_HTTPS, nodes, _cidrs(account, existing)) for group in groups
    )
    return check_endpoint(
        name,
        endpoint["VpcEndpointId"],
        state=endpoint["State"],
        private_dns=bool(endpoint.get("PrivateDnsEnabled")),
        lets_in=lets_in,
        region=account.region,
        path=_PATH,
    )


def _cidrs(account: Account, existing: ExistingNetworkSpec) -> list[str]:
    reported = account.ask("ec2", "describe_subnets", SubnetIds=sorted(existing.subnet_ids.values()))
    return [subnet["CidrBlock"] for subnet in reported["Subnets"]]


def _name(account: Account, endpoint: dict[str, Any]) -> str:
    return str(endpoint["ServiceName"]).partition(f".{account.region}.")[2]


def questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of an existing network; a new one is checked by quotas and AZs only."""
    network = fleet.network
    vpc_id = network.existing_vpc_id if network is not None else None
    if network is not None and vpc_id is not None:
        for zone, subnet_id in network.existing_subnet_ids.items():
            path = ("network", "vpc" if network.vpc is not None else "existing", "subnets", zone)
            ask = partial(_ask_subnet, fleet, vpc_id, path, subnet_id)
            yield Question(Topic.NETWORK, f"addresses of {subnet_id}", ask)
        if network.vpc is not None:
            ask = partial(_ask_ways_out, fleet, network.vpc)
            yield Question(Topic.NETWORK, "routes and endpoints of the subnets", ask)
        if network.existing is not None:
            ask = partial(ask_missing_parts, fleet, network, network.existing)
            yield Question(Topic.NETWORK, f"missing parts of {vpc_id}", ask)
    for group_id, path in _security_groups(fleet).items():
        ask = partial(_ask_group, vpc_id, group_id, path, efa=_has_efa(fleet))
        yield Question(Topic.NETWORK, f"EFA rules of {group_id}", ask)

    if new := new_rules(fleet):
        yield Question(Topic.NETWORK, "security group rules to add", partial(_ask_new_rules, fleet, new))


def _ask_new_rules(fleet: Fleet, new: Sequence[NewRule], account: Account) -> Answer:
    groups = sorted({rule.group_id for rule in new})
    own = own_ids(account, fleet)
    filters = [{"Name": "group-id", "Values": groups}]
    there = account.ask("ec2", "describe_security_group_rules", Filters=filters)["SecurityGroupRules"]
    others = [rule for rule in there if rule["SecurityGroupRuleId"] not in own]
    detail = f"{len(new)} rules for {len(groups)} security groups"
    return Answer(detail=detail, problems=check_new_rules(new, others, region=account.region))


def _security_groups(fleet: Fleet) -> Mapping[str, tuple[PathPart, ...]]:
    """Return each existing security group of nodes, with its path in the fleet file."""
    found: dict[str, tuple[PathPart, ...]] = {}
    group = fleet.network.existing_security_group if fleet.network is not None else None
    if group is not None:
        found[group[0]] = group[1]
    for name, cluster in fleet.hyperpod_clusters.items():
        for group in cluster.groups:
            for group_id in group.security_group_ids:
                found.setdefault(group_id, ("clusters", name, "groups", group.name, "security_groups"))
    return found


def _has_efa(fleet: Fleet) -> bool:
    facts = [ec2_instance(one.ec2_type) for one in machines_of(fleet)]
    return any(one is not None and one.efa_interfaces for one in facts)


def _ask_subnet(fleet: Fleet, vpc_id: str, path: tuple[str, ...], subnet_id: str, account: Account) -> Answer:
    assert fleet.network is not None
    reported, zone = _subnet(account, subnet_id), path[-1]
    if reported is None:
        remedy = (
            f"write an id that `aws ec2 describe-subnets --region {account.region} --filters "
            f"Name=vpc-id,Values={vpc_id}` lists"
        )
        missing = no_such("subnet", subnet_id, remedy, path=path)
        return Answer(detail="the subnet does not exist", problems=[missing])
    subnet = ExistingSubnet(
        subnet_id=subnet_id,
        vpc_id=reported["VpcId"],
        zone=reported["AvailabilityZoneId"],
        cidr=reported["CidrBlock"],
        free=reported["AvailableIpAddressCount"],
        held=_held(account, fleet, subnet_id),
    )
    plan = next(one for one in address_plan(fleet, fleet.network).zones if one.availability_zone_id == zone)
    misplaced = check_subnet_place(subnet, vpc_id=vpc_id, zone=zone, path=path)
    problems = [*misplaced, *check_free_addresses(subnet, plan, path=path)]
    held = f", {subnet.held} held by the fleet" if subnet.held else ""
    return Answer(detail=f"{plan.addresses + plan.headroom} required, {subnet.free} free{held}", problems=problems)


def _subnet(account: Account, subnet_id: str) -> dict[str, Any] | None:
    found = account.find("ec2", "describe_subnets", SubnetIds=[subnet_id])
    return next(iter(found.get("Subnets", ())), None)


def _held(account: Account, fleet: Fleet, subnet_id: str) -> int:
    """Return how many addresses of the subnet the fleet's nodes use already; its security group identifies them."""
    groups = own_ids(account, fleet) | set(_security_groups(fleet))
    running = _deployed(account, fleet)
    filters = [{"Name": "subnet-id", "Values": [subnet_id]}]
    interfaces = account.ask("ec2", "describe_network_interfaces", Filters=filters)["NetworkInterfaces"]
    return sum(any(one["GroupId"] in groups for one in item["Groups"]) for item in interfaces) if running else 0


def _deployed(account: Account, fleet: Fleet) -> bool:
    """Return whether any cluster of the fleet exists; if none does, the security group is used by others."""
    names = {cluster.cluster_name for cluster in fleet.hyperpod_clusters.values()}
    there = {one["ClusterName"] for one in account.ask("sagemaker", "list_clusters")["ClusterSummaries"]}
    return bool(names & there) or bool(fleet.parallelclusters)


def _ask_group(vpc_id: str | None, group_id: str, path: tuple[PathPart, ...], account: Account, *, efa: bool) -> Answer:
    group = security_group(account, group_id)
    if group is None:
        remedy = (
            f"write an id that `aws ec2 describe-security-groups --region {account.region}` lists, or remove the key: "
            "then llm-fleet creates one"
        )
        missing = no_such("security group", group_id, remedy, path=path)
        return Answer(detail="the security group does not exist", problems=[missing])
    misplaced = check_group_place(group, vpc_id=vpc_id, path=path) if vpc_id is not None else []
    rules = check_efa_rules(group, region=account.region, path=path) if efa else []
    return Answer(detail=_detail(group, rules, efa=efa), problems=[*misplaced, *rules])


def _detail(group: SecurityGroup, rules: Sequence[Problem], *, efa: bool) -> str:
    if not efa:
        return "no node has EFA"
    return "allows all traffic from and to itself" if not rules else f"{len(rules)} of 2 rules missing"
