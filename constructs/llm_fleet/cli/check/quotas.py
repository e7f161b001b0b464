"""Checks a fleet against service quotas and their current usage in the account."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.aws_api import ServiceQuota, machine_quota, named_quota, vcpu_quota, warm_pool_quota
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.cli.check.question import Account, Answer, Question, Topic, is_in, is_of_parallelcluster, own_ids
from llm_fleet.cli.clients import AwsRefusal
from llm_fleet.fleet_file.check_network import address_plan
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.needs.machines import CapacitySource, Machines, machines_of
from llm_fleet.rules.account.instance_capacity import QuotaGranted, QuotaNeed, check_quota
from llm_fleet.rules.network import nat_gateways
from llm_fleet.rules.problem import PathPart
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.storage import LustreSpec

_LIVING = ("running", "pending")
_GONE = ("deleted", "failed")


def in_use(account: Account, fleet: Fleet, quota: ServiceQuota, reported: Mapping[str, Any]) -> float | None:
    """Return the usage of `quota` by others, in the quota's unit; `None` if AWS does not return it.

    `reported` is the response of Service Quotas: most quotas that are not counted here have a usage metric.
    """
    counted = _counters().get(quota.name)
    if counted is not None:
        return counted(account, fleet)
    if quota.service == "ec2":
        return _usage_vcpus(account, fleet)[quota.name]
    if " for cluster " in quota.name:
        return _usage_clusters(account, fleet)[quota.name]
    metric = reported.get("UsageMetric")
    return None if not metric else _measured(account, metric)


def _counters() -> Mapping[str, Callable[[Account, Fleet], float]]:
    return MappingProxyType(
        {
            named_quota("clusters-size").name: lambda a, f: sum(_usage_clusters(a, f).values()),
            named_quota("vpcs").name: _vpcs,
            named_quota("internet-gateways").name: _gateways,
            named_quota("nat-gateways").name: _nat_gateways,
            named_quota("network-interfaces").name: _usage_interfaces,
            named_quota("elastic-ips").name: _addresses,
            named_quota("lustre-scratch").name: lambda a, f: _usage_lustre(a, f, "SCRATCH_1", "SCRATCH_2"),
            named_quota("lustre-persistent-1").name: lambda a, f: _usage_lustre(a, f, "PERSISTENT_1"),
            named_quota("lustre-persistent-2").name: lambda a, f: _usage_lustre(a, f, "PERSISTENT_2"),
            named_quota("openzfs-storage").name: lambda a, f: _openzfs(a, f, "StorageCapacity"),
            named_quota("openzfs-throughput").name: lambda a, f: _openzfs(a, f, "ThroughputCapacity"),
        }
    )


def _usage_clusters(account: Account, fleet: Fleet) -> Counter[str]:
    """Return the instances of other HyperPod clusters by the quota of their type."""
    own = {cluster.cluster_name for cluster in fleet.hyperpod_clusters.values()}
    names = [one["ClusterName"] for one in account.ask("sagemaker", "list_clusters")["ClusterSummaries"]]
    counts: Counter[str] = Counter()
    for name in names:
        if name in own:
            continue
        for group in account.ask("sagemaker", "describe_cluster", ClusterName=name)["InstanceGroups"]:
            quota = machine_quota("hyperpod", group.get("InstanceType", ""), capacity="on-demand")
            if quota is not None and not group.get("TrainingPlanArn"):
                counts[quota.name] += max(group.get("CurrentCount", 0), group.get("TargetCount", 0))
    return counts


def _usage_vcpus(account: Account, fleet: Fleet) -> Counter[str]:
    """Return the vCPUs of other running instances by their quota. EC2 does not count those in a Capacity Block."""
    own = own_ids(account, fleet)
    counts: Counter[str] = Counter()
    for reservation in account.ask("ec2", "describe_instances")["Reservations"]:
        for instance in reservation["Instances"]:
            lives = instance["State"]["Name"] in _LIVING
            lifecycle = instance.get("InstanceLifecycle")
            if not lives or lifecycle == "capacity-block" or is_in(own, instance):
                continue
            quota = vcpu_quota(instance["InstanceType"], spot=lifecycle == "spot")
            facts = ec2_instance(instance["InstanceType"])
            if quota is not None and facts is not None and not is_of_parallelcluster(instance.get("Tags", ()), fleet):
                counts[quota.name] += facts.vcpus
    return counts


def _vpcs(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    return sum(vpc["VpcId"] not in own for vpc in account.ask("ec2", "describe_vpcs")["Vpcs"])


def _gateways(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    gateways = account.ask("ec2", "describe_internet_gateways")["InternetGateways"]
    return sum(not is_in(own, gateway) for gateway in gateways)


def _nat_gateways(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    gateways = account.ask("ec2", "describe_nat_gateways")["NatGateways"]
    others = [one for one in gateways if one["State"] not in _GONE and not is_in(own, one)]
    return _in_fullest_zone(account, fleet, others)


def _usage_interfaces(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    interfaces = account.ask("ec2", "describe_network_interfaces")["NetworkInterfaces"]
    return _in_fullest_zone(account, fleet, [one for one in interfaces if not is_in(own, one)])


def _in_fullest_zone(account: Account, fleet: Fleet, things: Iterable[Mapping[str, Any]]) -> float:
    """Return the highest number of `things` in one AZ of the fleet: AWS counts per AZ."""
    subnets = {one["SubnetId"]: one["AvailabilityZoneId"] for one in account.ask("ec2", "describe_subnets")["Subnets"]}
    there = Counter(subnets.get(one.get("SubnetId", "")) for one in things)
    return max((there[zone] for zone in (fleet.network.zones if fleet.network is not None else ())), default=0)


def _addresses(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    addresses = account.ask("ec2", "describe_addresses")["Addresses"]
    return sum(own.isdisjoint((one.get("PublicIp"), one.get("AllocationId"))) for one in addresses)


def _usage_lustre(account: Account, fleet: Fleet, *deployments: str) -> float:
    return sum(
        one.get("StorageCapacity", 0)
        for one in _file_systems(account, fleet)
        if one.get("LustreConfiguration", {}).get("DeploymentType") in deployments
    )


def _openzfs(account: Account, fleet: Fleet, member: str) -> float:
    systems = [one for one in _file_systems(account, fleet) if one["FileSystemType"] == "OPENZFS"]
    return sum(one.get(member) or one["OpenZFSConfiguration"].get(member, 0) for one in systems)


def _file_systems(account: Account, fleet: Fleet) -> list[dict[str, Any]]:
    own = own_ids(account, fleet)
    systems: list[dict[str, Any]] = account.ask("fsx", "describe_file_systems")["FileSystems"]
    return [one for one in systems if one["FileSystemId"] not in own]


def _measured(account: Account, metric: Mapping[str, Any]) -> float | None:
    """Return the newest value of a usage metric; `None` if it has none in the last hours."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    answer = account.ask(
        "cloudwatch",
        "get_metric_statistics",
        Namespace=metric["MetricNamespace"],
        MetricName=metric["MetricName"],
        Dimensions=[{"Name": key, "Value": value} for key, value in metric.get("MetricDimensions", {}).items()],
        StartTime=now - timedelta(hours=6),
        EndTime=now + timedelta(hours=1),
        Period=3600,
        Statistics=["Maximum"],
    )
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    return points[-1]["Maximum"] if points else None


_LUSTRE = {
    "SCRATCH_1": "lustre-scratch",
    "SCRATCH_2": "lustre-scratch",
    "PERSISTENT_1": "lustre-persistent-1",
    "PERSISTENT_2": "lustre-persistent-2",
}


def quota_needs(fleet: Fleet) -> list[QuotaNeed]:
    """Return the usage of `fleet` per quota, each quota once."""
    found = (*_machines(machines_of(fleet)), *_quota_need_clusters(fleet), *_warm_pools(fleet), *_storage(fleet))
    made = fleet.network is not None and fleet.network.vpc is None
    network = _made_network(fleet.network) if made and fleet.network is not None else ()
    return _added_up([*found, *network, *_quota_need_interfaces(fleet)])


def _machines(machines: Iterable[Machines]) -> Iterator[QuotaNeed]:
    """A training plan uses no quota: assumption: training-plans-need-no-quota."""
    for one in machines:
        if not one.instance_type or not one.count:
            continue
        if one.service.on_ec2:
            yield from _quota_need_vcpus(one)
        elif quota := machine_quota(one.service.value, one.instance_type, capacity=one.capacity.value):
            yield _need(quota, one.count, one.owner, one.path)


def _quota_need_vcpus(one: Machines) -> Iterator[QuotaNeed]:
    """EC2 counts vCPUs, except those in Capacity Blocks (EC2 User Guide: Capacity Blocks for ML)."""
    facts = ec2_instance(one.ec2_type)
    quota = vcpu_quota(one.ec2_type, spot=one.capacity is CapacitySource.SPOT)
    if facts is not None and quota is not None and one.capacity is not CapacitySource.CAPACITY_BLOCK:
        yield _need(quota, one.count * facts.vcpus, one.owner, one.path)


def _quota_need_clusters(fleet: Fleet) -> Iterator[QuotaNeed]:
    for name, cluster in fleet.hyperpod_clusters.items():
        owner, path = f"cluster {name}", ("clusters", name)
        yield _need(named_quota("clusters-size"), cluster.node_count, owner, path)
        yield _need(named_quota("cluster-size"), cluster.node_count, owner, path, adds_up=False)
        spot = sum(group.count for group in cluster.groups if group.spot)
        if spot:
            yield _need(named_quota("clusters-spot"), spot, owner, path)
        for group in cluster.groups:
            if group.ebs_volume_gib:
                group_path = (*path, "groups", group.name)
                yield _need(
                    named_quota("cluster-ebs"), group.ebs_volume_gib, f"{name}/{group.name}", group_path, adds_up=False
                )


def _warm_pools(fleet: Fleet) -> Iterator[QuotaNeed]:
    for name, job in fleet.training_jobs.items():
        if job.warm_pool is not None:
            path = ("training_jobs", name, "warm_pool")
            yield _need(warm_pool_quota(job.instance_type), job.instance_count, f"training job {name}", path)


def _storage(fleet: Fleet) -> Iterator[QuotaNeed]:
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None and fsx.existing is None:
        yield from _quota_need_lustre(fsx)
    if home is not None and home.existing is None:
        path = ("storage", "home")
        yield _need(named_quota("openzfs-storage"), home.storage_capacity_gib, "storage.home", path)
        yield _need(named_quota("openzfs-throughput"), home.effective_throughput_capacity, "storage.home", path)


def _quota_need_lustre(spec: LustreSpec) -> Iterator[QuotaNeed]:
    path = ("storage", "fsx")
    if spec.storage_type == "INTELLIGENT_TIERING":
        throughput = spec.effective_throughput_capacity
        if throughput is not None:
            yield _need(named_quota("lustre-tiering"), throughput, "storage.fsx", path)
        return
    capacity = spec.effective_capacity_gib
    if capacity is not None and spec.deployment_type in _LUSTRE:
        yield _need(named_quota(_LUSTRE[spec.deployment_type]), capacity, "storage.fsx", path)


def _made_network(network: NetworkConfig) -> Iterator[QuotaNeed]:
    path = ("network",)
    existing = network.existing
    if existing is None:
        yield _need(named_quota("vpcs"), 1, "network", path)
    gateways = nat_gateways(network.internet, len(network.zones))
    attached = existing is not None and existing.internet_gateway is not None
    if network.internet is not InternetAccess.NONE and not attached:
        yield _need(named_quota("internet-gateways"), 1, "network", path)
    if gateways:
        yield _need(named_quota("elastic-ips"), gateways, "network", path)
        yield _need(named_quota("nat-gateways"), 1, "network", path)


def _quota_need_interfaces(fleet: Fleet) -> Iterator[QuotaNeed]:
    """AWS enforces the quota per AZ, so the AZ with most nodes counts."""
    if fleet.network is not None:
        plan = address_plan(fleet, fleet.network)
        most = max((zone.interfaces for zone in plan.zones), default=0)
        if most:
            yield _need(named_quota("network-interfaces"), most, "the nodes of one AZ", ("network",))


def _need(
    quota: ServiceQuota, amount: float, owner: str, path: Sequence[PathPart], *, adds_up: bool = True
) -> QuotaNeed:
    return QuotaNeed(quota=quota, amount=amount, owners=(owner,), path=tuple(path), adds_up=adds_up)


def _added_up(needs: Sequence[QuotaNeed]) -> list[QuotaNeed]:
    """Return each quota once: the sum of the needs, or the largest need if the quota is per resource."""
    found: dict[ServiceQuota, QuotaNeed] = {}
    for need in needs:
        known = found.get(need.quota)
        if known is None or (not need.adds_up and need.amount > known.amount):
            found[need.quota] = need
        elif need.adds_up:
            found[need.quota] = QuotaNeed(
                quota=need.quota,
                amount=known.amount + need.amount,
                owners=(*known.owners, *(owner for owner in need.owners if owner not in known.owners)),
                path=known.path,
            )
    return list(found.values())


_OPEN = ("PENDING", "CASE_OPENED")


def questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the check of each quota that the fleet can exceed."""
    for need in quota_needs(fleet):
        yield Question(Topic.QUOTAS, f"quota {need.quota.name}", partial(_ask_quota, fleet, need))


def _ask_quota(fleet: Fleet, need: QuotaNeed, account: Account) -> Answer:
    reported = _reported(account, need.quota)
    alone = _granted(reported)
    if reported is None or alone is None:
        return Answer(
            detail="AWS does not have this quota in this Region",
            problems=check_quota(need, None, region=account.region),
        )
    granted = replace(alone, in_use=_used(account, fleet, need, alone, reported)) if need.adds_up else alone
    problems = check_quota(need, granted, region=account.region)
    if problems and granted.adjustable:
        granted = replace(granted, requested_for=_requested_for(account, need.quota, granted.code))
        problems = check_quota(need, granted, region=account.region)
    return Answer(detail=_detail(need, granted), problems=problems)


def _used(
    account: Account, fleet: Fleet, need: QuotaNeed, alone: QuotaGranted, reported: dict[str, Any]
) -> float | None:
    """Return the usage by others. A denied call is raised only if the quota would be sufficient without them."""
    try:
        return in_use(account, fleet, need.quota, reported)
    except AwsRefusal:
        if check_quota(need, alone, region=account.region):
            return None
        raise


def quota_key(quota: ServiceQuota) -> str:
    """Return the name of a quota with its service, in the file of an account's facts."""
    return f"{quota.service}/{quota.name}"


def granted_quota(account: Account, quota: ServiceQuota) -> QuotaGranted | None:
    """Return the value in the account, or the default if it was never changed; `None` if AWS does not have it."""
    return _granted(_reported(account, quota))


def _granted(reported: Mapping[str, Any] | None) -> QuotaGranted | None:
    if reported is None:
        return None
    return QuotaGranted(
        code=reported["QuotaCode"], value=reported["Value"], adjustable=reported.get("Adjustable", True)
    )


def _reported(account: Account, quota: ServiceQuota) -> dict[str, Any] | None:
    """Return the granted value; a quota that was never changed is only in the list of defaults."""
    for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
        for reported in account.ask("service-quotas", operation, ServiceCode=quota.service)["Quotas"]:
            if reported["QuotaCode"] == quota.code or reported["QuotaName"] == quota.name:
                return reported
    return None


def _requested_for(account: Account, quota: ServiceQuota, code: str) -> float | None:
    """Return the highest open request for an increase; `None` without one, or if the call is denied."""
    try:
        history = account.ask(
            "service-quotas", "list_requested_service_quota_change_history", ServiceCode=quota.service
        )
    except AwsRefusal:
        return None
    requested = [
        one["DesiredValue"] for one in history["RequestedQuotas"] if one["QuotaCode"] == code and one["Status"] in _OPEN
    ]
    return max(requested, default=None)


def _detail(need: QuotaNeed, granted: QuotaGranted) -> str:
    in_words = need.quota.in_words
    required = f"{in_words(need.amount)} required, quota {in_words(granted.value)}"
    if not need.adds_up:
        return required
    if granted.in_use is None:
        return f"{required}, AWS does not return the current usage"
    return f"{required}, {in_words(granted.in_use)} in use"
