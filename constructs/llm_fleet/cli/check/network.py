"""Asks about an existing network: its subnets, security groups, ways out and endpoints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.own import own_ids
from llm_fleet.cli.check.question import Answer, Ask, Question
from llm_fleet.cli.check.security_groups import new_rules, security_group
from llm_fleet.cli.check.topic import Topic
from llm_fleet.cli.check.ways_out import ways_out
from llm_fleet.config.check_places import address_plan
from llm_fleet.config.existing_network import ExistingNetworkConfig
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.machines import machines_of
from llm_fleet.rules.account.security_group import (
    NewRule,
    SecurityGroup,
    check_efa_rules,
    check_group_place,
    check_new_rules,
)
from llm_fleet.rules.account.subnet import ExistingSubnet, check_free_addresses, check_subnet_place, no_such
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import PathPart, Problem


def questions(fleet: Fleet, *, region: str) -> Iterator[Question]:
    """Ask about what exists; a network to be made is asked for by quotas and AZs alone."""
    existing = fleet.network.vpc if fleet.network is not None else None
    if existing is not None:
        for zone, subnet_id in existing.subnets.items():
            yield Question(
                topic=Topic.NETWORK,
                what=f"addresses of {subnet_id}",
                answer=_asking_subnet(fleet, existing, zone, subnet_id),
            )
        yield Question(
            topic=Topic.NETWORK, what="ways out of the subnets", answer=ways_out(fleet, existing, region=region)
        )
    for group_id, path in _security_groups(fleet).items():
        yield Question(
            topic=Topic.NETWORK,
            what=f"EFA rules of {group_id}",
            answer=_asking_group(existing, group_id, path, region, efa=_has_efa(fleet)),
        )

    if new := new_rules(fleet):
        yield Question(topic=Topic.NETWORK, what="rules to be added", answer=_asking_new_rules(fleet, new, region))


def _asking_new_rules(fleet: Fleet, new: Sequence[NewRule], region: str) -> Ask:
    def answer(account: Account) -> Answer:
        groups = sorted({rule.group_id for rule in new})
        own = own_ids(account, fleet)
        filters = [{"Name": "group-id", "Values": groups}]
        there = account.ask("ec2", "describe_security_group_rules", Filters=filters)["SecurityGroupRules"]
        others = [rule for rule in there if rule["SecurityGroupRuleId"] not in own]
        detail = f"{len(new)} rules inward of {len(groups)} groups"
        return Answer(detail=detail, problems=check_new_rules(new, others, region=region))

    return answer


def _security_groups(fleet: Fleet) -> Mapping[str, tuple[PathPart, ...]]:
    """Return each existing security group that nodes have, with its place in the file."""
    found: dict[str, tuple[PathPart, ...]] = {}
    existing = fleet.network.vpc if fleet.network is not None else None
    if existing is not None and existing.security_group_id:
        found[existing.security_group_id] = ("network", "vpc", "security_group")
    for name, cluster in fleet.hyperpod_clusters.items():
        for key, group in cluster.groups.items():
            for group_id in group.security_group_ids:
                found.setdefault(group_id, ("clusters", name, "groups", key, "security_groups"))
    return found


def _has_efa(fleet: Fleet) -> bool:
    facts = [ec2_instance(one.ec2_type) for one in machines_of(fleet)]
    return any(one is not None and one.efa_interfaces for one in facts)


def _asking_subnet(fleet: Fleet, existing: ExistingNetworkConfig, zone: str, subnet_id: str) -> Ask:
    def answer(account: Account) -> Answer:
        assert fleet.network is not None
        told = _subnet(account, subnet_id)
        path = ("network", "vpc", "subnets", zone)
        if told is None:
            remedy = (
                f"name one of `aws ec2 describe-subnets --region {account.region} "
                f"--filters Name=vpc-id,Values={existing.vpc_id}`"
            )
            missing = no_such("subnet", subnet_id, remedy, path=path)
            return Answer(detail="there is no such subnet", problems=[missing])
        subnet = ExistingSubnet(
            subnet_id=subnet_id,
            vpc_id=told["VpcId"],
            zone=told["AvailabilityZoneId"],
            cidr=told["CidrBlock"],
            free=told["AvailableIpAddressCount"],
            held=_held(account, fleet, subnet_id),
        )
        plan = next(one for one in address_plan(fleet, fleet.network).zones if one.availability_zone_id == zone)
        misplaced = check_subnet_place(subnet, vpc_id=existing.vpc_id, zone=zone, path=path)
        problems = [*misplaced, *check_free_addresses(subnet, plan, path=path)]
        held = f", {subnet.held} held by the fleet" if subnet.held else ""
        return Answer(detail=f"takes {plan.addresses + plan.headroom} of {subnet.free} free{held}", problems=problems)

    return answer


def _subnet(account: Account, subnet_id: str) -> dict[str, Any] | None:
    try:
        found = account.ask("ec2", "describe_subnets", SubnetIds=[subnet_id])["Subnets"]
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return None
    return next(iter(found), None)


def _held(account: Account, fleet: Fleet, subnet_id: str) -> int:
    """Return how many addresses of the subnet nodes of the fleet have already; they have its security group."""
    groups = own_ids(account, fleet) | set(_security_groups(fleet))
    running = _deployed(account, fleet)
    filters = [{"Name": "subnet-id", "Values": [subnet_id]}]
    interfaces = account.ask("ec2", "describe_network_interfaces", Filters=filters)["NetworkInterfaces"]
    return sum(any(one["GroupId"] in groups for one in item["Groups"]) for item in interfaces) if running else 0


def _deployed(account: Account, fleet: Fleet) -> bool:
    """Return whether any cluster of the fleet is there; else others have what has its security group."""
    names = {cluster.cluster_name for cluster in fleet.hyperpod_clusters.values()}
    there = {one["ClusterName"] for one in account.ask("sagemaker", "list_clusters")["ClusterSummaries"]}
    return bool(names & there) or bool(fleet.parallelclusters)


def _asking_group(
    existing: ExistingNetworkConfig | None, group_id: str, path: tuple[PathPart, ...], region: str, *, efa: bool
) -> Ask:
    def answer(account: Account) -> Answer:
        group = security_group(account, group_id)
        if group is None:
            remedy = (
                f"name one of `aws ec2 describe-security-groups --region {region}`, or leave the key out, "
                "and one is made"
            )
            missing = no_such("security group", group_id, remedy, path=path)
            return Answer(detail="there is no such security group", problems=[missing])
        misplaced = check_group_place(group, vpc_id=existing.vpc_id, path=path) if existing is not None else []
        rules = check_efa_rules(group, region=region, path=path) if efa else []
        return Answer(detail=_detail(group, rules, efa=efa), problems=[*misplaced, *rules])

    return answer


def _detail(group: SecurityGroup, rules: Sequence[Problem], *, efa: bool) -> str:
    if not efa:
        return "no node has EFA"
    return "lets all traffic in from, and out to, itself" if not rules else f"{len(rules)} of 2 rules missing"
