"""What a fleet takes of the account's quotas."""

from collections.abc import Iterable, Iterator, Sequence

from llm_fleet.catalog.aws_api import ServiceQuota, machine_quota, named_quota, vcpu_quota, warm_pool_quota
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.config.check_places import address_plan
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machines import machines_of
from llm_fleet.needs.terms import CapacitySource
from llm_fleet.rules.account.quota import QuotaNeed
from llm_fleet.rules.lustre_settings import LustreSettings
from llm_fleet.rules.network_endpoints import nat_gateways
from llm_fleet.rules.problem import PathPart
from llm_fleet.rules.terms import InternetAccess

_LUSTRE = {
    "SCRATCH_1": "lustre-scratch",
    "SCRATCH_2": "lustre-scratch",
    "PERSISTENT_1": "lustre-persistent-1",
    "PERSISTENT_2": "lustre-persistent-2",
}


def quota_needs(fleet: Fleet) -> list[QuotaNeed]:
    """Return everything that `fleet` takes of a quota, each quota once."""
    found = (*_machines(machines_of(fleet)), *_clusters(fleet), *_warm_pools(fleet), *_storage(fleet))
    made = fleet.network is not None and fleet.network.vpc is None
    network = _made_network(fleet.network) if made and fleet.network is not None else ()
    return _added_up([*found, *network, *_interfaces(fleet)])


def _machines(machines: Iterable[Machines]) -> Iterator[QuotaNeed]:
    """A training plan itself takes none: assumption: training-plans-need-no-quota."""
    for one in machines:
        if not one.instance_type or not one.count:
            continue
        if one.service.on_ec2:
            yield from _vcpus(one)
        elif quota := machine_quota(one.service.value, one.instance_type, capacity=one.capacity.value):
            yield _need(quota, one.count, one.owner, one.path)


def _vcpus(one: Machines) -> Iterator[QuotaNeed]:
    """EC2 counts vCPUs, but those in Capacity Blocks not (EC2 User Guide: Capacity Blocks for ML)."""
    facts = ec2_instance(one.ec2_type)
    quota = vcpu_quota(one.ec2_type, spot=one.capacity is CapacitySource.SPOT)
    if facts is not None and quota is not None and one.capacity is not CapacitySource.CAPACITY_BLOCK:
        yield _need(quota, one.count * facts.vcpus, one.owner, one.path)


def _clusters(fleet: Fleet) -> Iterator[QuotaNeed]:
    for name, cluster in fleet.hyperpod_clusters.items():
        owner, path = f"cluster {name}", ("clusters", name)
        yield _need(named_quota("clusters-size"), cluster.node_count, owner, path)
        yield _need(named_quota("cluster-size"), cluster.node_count, owner, path, adds_up=False)
        spot = sum(group.count for group in cluster.groups.values() if group.spot)
        if spot:
            yield _need(named_quota("clusters-spot"), spot, owner, path)
        for key, group in cluster.groups.items():
            if group.ebs_volume_gib:
                group_path = (*path, "groups", key)
                yield _need(
                    named_quota("cluster-ebs"), group.ebs_volume_gib, f"{name}/{key}", group_path, adds_up=False
                )


def _warm_pools(fleet: Fleet) -> Iterator[QuotaNeed]:
    for name, job in fleet.training_jobs.items():
        if job.warm_pool is not None:
            path = ("training_jobs", name, "warm_pool")
            yield _need(warm_pool_quota(job.instance_type), job.instance_count, f"training job {name}", path)


def _storage(fleet: Fleet) -> Iterator[QuotaNeed]:
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None and fsx.existing is None:
        yield from _lustre(fsx.settings)
    if home is not None and home.existing is None:
        settings, path = home.settings, ("storage", "home")
        yield _need(named_quota("openzfs-storage"), settings.storage_capacity_gib, "storage.home", path)
        yield _need(named_quota("openzfs-throughput"), settings.effective_throughput_capacity, "storage.home", path)


def _lustre(settings: LustreSettings) -> Iterator[QuotaNeed]:
    path = ("storage", "fsx")
    if settings.storage_type == "INTELLIGENT_TIERING":
        throughput = settings.effective_throughput_capacity
        if throughput is not None:
            yield _need(named_quota("lustre-tiering"), throughput, "storage.fsx", path)
        return
    capacity = settings.effective_capacity_gib
    if capacity is not None and settings.deployment_type in _LUSTRE:
        yield _need(named_quota(_LUSTRE[settings.deployment_type]), capacity, "storage.fsx", path)


def _made_network(network: NetworkConfig) -> Iterator[QuotaNeed]:
    path = ("network",)
    yield _need(named_quota("vpcs"), 1, "network", path)
    gateways = nat_gateways(network.internet, len(network.availability_zone_ids))
    if network.internet is not InternetAccess.NONE:
        yield _need(named_quota("internet-gateways"), 1, "network", path)
    if gateways:
        yield _need(named_quota("elastic-ips"), gateways, "network", path)
        yield _need(named_quota("nat-gateways"), 1, "network", path)


def _interfaces(fleet: Fleet) -> Iterator[QuotaNeed]:
    """AWS enforces the quota in each AZ: the fullest one counts."""
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
    """Return each quota once: added up, or of one that is for a single thing, the largest."""
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
