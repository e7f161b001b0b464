"""How much of a quota others than the fleet use, as far as AWS tells."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.aws_api import ServiceQuota, machine_quota, named_quota, vcpu_quota
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.own import is_of_parallelcluster, own_ids
from llm_fleet.config.fleet import Fleet

_LIVING = ("running", "pending")
_GONE = ("deleted", "failed")


def in_use(account: Account, fleet: Fleet, quota: ServiceQuota, told: Mapping[str, Any]) -> float | None:
    """Return what others use of `quota`, in its own unit; `None` where AWS does not tell.

    `told` is what Service Quotas says of it: for most quotas that we do not count, the metric of its usage.
    """
    counted = _counters().get(quota.name)
    if counted is not None:
        return counted(account, fleet)
    if quota.service == "ec2":
        return _vcpus(account, fleet)[quota.name]
    if " for cluster " in quota.name:
        return _clusters(account, fleet)[quota.name]
    metric = told.get("UsageMetric")
    return None if not metric else _measured(account, metric)


def _counters() -> Mapping[str, Callable[[Account, Fleet], float]]:
    return MappingProxyType(
        {
            named_quota("clusters-size").name: lambda a, f: sum(_clusters(a, f).values()),
            named_quota("vpcs").name: _vpcs,
            named_quota("internet-gateways").name: _gateways,
            named_quota("nat-gateways").name: _nat_gateways,
            named_quota("network-interfaces").name: _interfaces,
            named_quota("elastic-ips").name: _addresses,
            named_quota("lustre-scratch").name: lambda a, f: _lustre(a, f, "SCRATCH_1", "SCRATCH_2"),
            named_quota("lustre-persistent-1").name: lambda a, f: _lustre(a, f, "PERSISTENT_1"),
            named_quota("lustre-persistent-2").name: lambda a, f: _lustre(a, f, "PERSISTENT_2"),
            named_quota("openzfs-storage").name: lambda a, f: _openzfs(a, f, "StorageCapacity"),
            named_quota("openzfs-throughput").name: lambda a, f: _openzfs(a, f, "ThroughputCapacity"),
        }
    )


def _clusters(account: Account, fleet: Fleet) -> Counter[str]:
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


def _vcpus(account: Account, fleet: Fleet) -> Counter[str]:
    """Return the vCPUs of other running instances by their quota. Those in a Capacity Block are not counted by EC2."""
    own = own_ids(account, fleet)
    counts: Counter[str] = Counter()
    for reservation in account.ask("ec2", "describe_instances")["Reservations"]:
        for instance in reservation["Instances"]:
            lives = instance["State"]["Name"] in _LIVING
            lifecycle = instance.get("InstanceLifecycle")
            if not lives or lifecycle == "capacity-block" or instance.get("VpcId") in own:
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
    return sum(not any(one["VpcId"] in own for one in gateway.get("Attachments", ())) for gateway in gateways)


def _nat_gateways(account: Account, fleet: Fleet) -> float:
    """Return how many others have in the one of the fleet's AZs that has most: the quota is for each AZ."""
    own = own_ids(account, fleet)
    subnets = {one["SubnetId"]: one["AvailabilityZoneId"] for one in account.ask("ec2", "describe_subnets")["Subnets"]}
    zones = fleet.network.availability_zone_ids if fleet.network is not None else ()
    there = [
        subnets.get(gateway.get("SubnetId", ""))
        for gateway in account.ask("ec2", "describe_nat_gateways")["NatGateways"]
        if gateway["State"] not in _GONE and gateway["VpcId"] not in own
    ]
    return max((there.count(zone) for zone in zones), default=0)


def _interfaces(account: Account, fleet: Fleet) -> float:
    """Return how many others have in the one of the fleet's AZs that has most: AWS counts by AZ."""
    own = own_ids(account, fleet)
    subnets = {one["SubnetId"]: one["AvailabilityZoneId"] for one in account.ask("ec2", "describe_subnets")["Subnets"]}
    zones = fleet.network.availability_zone_ids if fleet.network is not None else ()
    there = Counter(
        subnets.get(one.get("SubnetId", ""))
        for one in account.ask("ec2", "describe_network_interfaces")["NetworkInterfaces"]
        if one.get("VpcId") not in own
    )
    return max((there[zone] for zone in zones), default=0)


def _addresses(account: Account, fleet: Fleet) -> float:
    own = own_ids(account, fleet)
    addresses = account.ask("ec2", "describe_addresses")["Addresses"]
    return sum(own.isdisjoint((one.get("PublicIp"), one.get("AllocationId"))) for one in addresses)


def _lustre(account: Account, fleet: Fleet, *deployments: str) -> float:
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
    """Return the newest value of a metric of usage; `None` when there is none of the last hours."""
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
