"""Checks of the network of a fleet file, with the same rules as the constructs, and of the AZs in it."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.network import az_id_prefix
from llm_fleet.fleet_file.check_clusters import placed_cluster, placed_parallelcluster, zone_of_parallelcluster
from llm_fleet.fleet_file.clusters import HyperPodConfig, ParallelClusterConfig
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.rules.addresses import AddressClaim, AddressPlan, check_addresses, plan_addresses
from llm_fleet.rules.codes import Code
from llm_fleet.rules.lustre_network import lustre_claim
from llm_fleet.rules.network import check_existing_network, check_network, other_interfaces
from llm_fleet.rules.network_layout import compute_subnet_cidrs
from llm_fleet.rules.parallelcluster.node_network import address_claims
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.regions import check_az_id
from llm_fleet.rules.terms import EndpointFeature, InternetAccess


def check_network_config(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the network, by attribute names; empty without a network."""
    network = fleet.network
    if network is None:
        return
    found = _check_existing(network, fleet) if network.vpc is not None else _check_made(network, fleet)
    for problem in found:
        yield problem.under("network")


def endpoint_features(fleet: Fleet) -> frozenset[EndpointFeature]:
    """Return the features of clusters and services that need a VPC endpoint."""
    accounting = (
        *(cluster.accounting_database for cluster in fleet.hyperpod_clusters.values()),
        *(cluster.accounting for cluster in fleet.parallelclusters.values()),
    )
    closed = fleet.way_out is InternetAccess.NONE
    used = {
        EndpointFeature.ACCOUNTING: any(accounting),
        # With internet access, the hosts of services need no endpoints, which are billed by the hour.
        EndpointFeature.INFERENCE: bool(fleet.services) and closed,
        EndpointFeature.SAGEMAKER_WORK: (bool(fleet.notebooks) or fleet.studio is not None) and closed,
    }
    if closed and fleet.monitoring is not None:
        from llm_fleet.fleet_file.check_monitoring import writes_to_prometheus

        used[EndpointFeature.METRICS] = writes_to_prometheus(fleet)
    return frozenset(feature for feature, is_used in used.items() if is_used)


def zone_path(network: NetworkConfig, *rest: PathPart) -> tuple[PathPart, ...]:
    """Return the path of the AZs: `az`, an item of `azs`, or the network if neither is set."""
    if network.availability_zone_ids:
        return ("availability_zone_ids", *rest)
    return ("az",) if network.az is not None else ()


def _check_existing(network: NetworkConfig, fleet: Fleet) -> Iterator[Problem]:
    existing = network.vpc
    assert existing is not None
    if is_unresolved(existing):
        return
    for attribute in sorted(network.model_fields_set - {"vpc"}):
        yield Problem(
            code=Code.CONTRADICTION,
            message="this setting is for a new network, but `vpc` is an existing one",
            remedy="remove it, or remove `vpc`",
            path=(attribute,),
            value=getattr(network, attribute),
        )
    for problem in check_existing_network(existing, region=fleet.region):
        yield problem.under("vpc")


def _check_made(network: NetworkConfig, fleet: Fleet) -> Iterator[Problem]:
    for problem in check_network(network, endpoint_features=endpoint_features(fleet), region=fleet.region):
        nowhere = problem.path == ("availability_zone_ids",) and not network.availability_zone_ids
        yield replace(problem, path=()) if nowhere else problem


def check_zones_exist(fleet: Fleet) -> Iterator[Problem]:
    """Return each AZ that is set for a part of the fleet but has no compute subnet in the network."""
    if fleet.network is None:
        return
    zones = fleet.network.zones
    for path, zone in _named_zones(fleet):
        if path[0] == "storage":  # The clusters' own rules check their AZs.
            yield from (replace(problem, path=path) for problem in check_az_id(fleet.region, zone))
        if not is_unresolved(zones) and zone not in zones and az_id_prefix(zone) is not None:
            yield Problem(
                code=Code.ZONE_WITHOUT_SUBNET,
                message=f"the network has no compute subnet in AZ {zone}",
                remedy=f"write one of the network's AZs, or add {zone} to them",
                path=path,
                value=zone,
                allowed=", ".join(zones),
            )


def check_places(fleet: Fleet) -> list[Problem]:
    """Return where subnets have too few addresses. Call this only for a fleet without other errors."""
    network = fleet.network
    if network is None:
        return []
    problems = check_addresses(address_plan(fleet, network), region=fleet.region)
    return [_in_file(problem, network) for problem in problems]


def zones_of_network(fleet: Fleet) -> tuple[str, ...]:
    """Return the AZ ids of the network, those of load balancers last; none without a network."""
    network = fleet.network
    return () if network is None else (*network.zones, *network.load_balancer_zone_ids)


def address_plan(fleet: Fleet, network: NetworkConfig) -> AddressPlan:
    """Return the addresses that the fleet needs in the compute subnets."""
    zones = network.zones
    if network.vpc is not None:
        return plan_addresses(_claims(fleet), subnet_cidrs={z: network.vpc.compute_cidrs.get(z) for z in zones})
    return plan_addresses(
        _claims(fleet),
        subnet_cidrs=compute_subnet_cidrs(network.compute_cidr, zones),
        other_interfaces=other_interfaces(
            zones, network.internet, endpoint_features(fleet), network.endpoints, network.without_endpoints
        ),
        interface_quota=network.interface_quota,
    )


def _claims(fleet: Fleet) -> Iterator[AddressClaim]:
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None and fsx.existing is None:
        yield lustre_claim(
            fsx, owner="storage.fsx", availability_zone_id=fleet.zone_of_fsx, region=fleet.region, in_file=True
        )
    if home is not None and home.existing is None:
        yield AddressClaim.for_file_system(
            owner="storage.home", what="FSx for OpenZFS", availability_zone_id=fleet.zone_of_home
        )
    for name, cluster in fleet.hyperpod_clusters.items():
        view = placed_cluster(fleet, cluster)
        for group in cluster.groups:
            if not group.subnet_ids:
                yield AddressClaim.for_instances(
                    owner=f"{name}/{group.name}",
                    instance_types=group.instance_types or group.instance_type or (),
                    count=group.count,
                    availability_zone_id=view.zone_of(group),
                )
    for name, cluster in fleet.parallelclusters.items():
        shape = placed_parallelcluster(fleet, cluster)
        yield from address_claims(
            head_node=shape.head_node,
            queues=shape.queues,
            login_pools=shape.login_pools,
            owner=name,
            zone=zone_of_parallelcluster(fleet, cluster),
            efa_with_address=shape.efa_with_address,
        )
    yield from _claims_next_to_clusters(fleet)


def _claims_next_to_clusters(fleet: Fleet) -> Iterator[AddressClaim]:
    """Return the needs of services and SageMaker parts; their rules are imported only if the fleet has them."""
    if fleet.services:
        from llm_fleet.rules.inference.service import address_claims as service_claims

        zones = fleet.network.zones if fleet.network is not None else ()
        for name, service in fleet.services.items():
            yield from service_claims(service, owner=name, zones=zones)
    if fleet.studio is not None:
        from llm_fleet.fleet_file.check_sagemaker import zones_of_studio
        from llm_fleet.rules.sagemaker.studio import studio_claims

        yield from studio_claims(
            len(fleet.studio.users),
            zones=zones_of_studio(fleet, fleet.studio),
            home_efs=fleet.studio.home_efs,
            owner="studio",
        )
    if fleet.training_jobs:
        from llm_fleet.rules.sagemaker.training_job import address_claim as training_job_claim

        for job in fleet.training_jobs.values():
            # With a channel on FSx it runs in that AZ; otherwise in any AZ, and the first must have enough addresses.
            on_fsx = any(channel.fsx is not None for channel in job.channels.values())
            zone = fleet.zone_of_fsx if on_fsx and fleet.storage.fsx is not None else None
            yield training_job_claim(job, owner=job.name, availability_zone_id=zone)
    if fleet.notebooks:
        from llm_fleet.rules.sagemaker.notebook import notebook_claim

        for name, notebook in fleet.notebooks.items():
            yield notebook_claim(name, availability_zone_id=notebook.availability_zone_id)


def _named_zones(fleet: Fleet) -> Iterator[tuple[tuple[PathPart, ...], str]]:
    """Return each AZ that the user set outside the network, with its path."""
    fsx, home = fleet.storage.fsx, fleet.storage.home
    if fsx is not None and fsx.availability_zone_id is not None:
        yield ("storage", "fsx", "availability_zone_id"), fsx.availability_zone_id
    if home is not None and home.availability_zone_id is not None:
        yield ("storage", "home", "availability_zone_id"), home.availability_zone_id
    for name, notebook in fleet.notebooks.items():
        if notebook.availability_zone_id is not None:
            yield ("notebooks", name, "availability_zone_id"), notebook.availability_zone_id
    for name, cluster in fleet.clusters.items():
        if cluster.availability_zone_id is not None:
            yield ("clusters", name, "availability_zone_id"), cluster.availability_zone_id
        parts = _parts_of_parallelcluster(cluster) if cluster.kind == "parallelcluster" else _parts_of_hyperpod(cluster)
        yield from ((("clusters", name, *path, "availability_zone_id"), zone) for path, zone in parts)


def _parts_of_hyperpod(cluster: HyperPodConfig) -> Iterator[tuple[tuple[PathPart, ...], str]]:
    for group in cluster.groups:
        if group.availability_zone_id is not None and not group.subnet_ids:
            yield ("groups", group.name), group.availability_zone_id


def _parts_of_parallelcluster(cluster: ParallelClusterConfig) -> Iterator[tuple[tuple[PathPart, ...], str]]:
    for queue in cluster.queues:
        if queue.availability_zone_id is not None and not queue.subnet_ids:
            yield ("queues", queue.name), queue.availability_zone_id


def _in_file(problem: Problem, network: NetworkConfig) -> Problem:
    """Return a problem of the plan with the path of the value to change."""
    if problem.path[:1] == ("availability_zone_ids",):
        return replace(problem, path=("network", *zone_path(network, *problem.path[1:])))
    if network.vpc is not None:
        return replace(problem, path=("network", "vpc"))
    return problem.under("network")
