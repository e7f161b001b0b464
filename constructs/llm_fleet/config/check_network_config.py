"""The network of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.monitoring.check_metrics import writes_to_prometheus
from llm_fleet.config.network import NetworkConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network import check_existing_network, check_network
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import EndpointFeature, InternetAccess


def check_network_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the network, by attribute names; nothing where there is none."""
    network = fleet.network
    if network is None:
        return
    found = _check_existing(network, fleet) if network.vpc is not None else _check_made(network, fleet)
    for problem in found:
        yield problem.under("network")


def endpoint_features(fleet: Fleet) -> frozenset[EndpointFeature]:
    """Return what clusters and services do that needs an endpoint of its own."""
    accounting = (
        *(cluster.accounting_database for cluster in fleet.hyperpod_clusters.values()),
        *(cluster.accounting for cluster in fleet.parallelclusters.values()),
    )
    closed = fleet.network is not None and fleet.network.internet is InternetAccess.NONE
    used = {
        EndpointFeature.ACCOUNTING: any(accounting),
        # Beside a way to the internet, what hosts of services call needs no endpoint that is paid by the hour.
        EndpointFeature.INFERENCE: bool(fleet.services) and closed,
        EndpointFeature.SAGEMAKER_WORK: (bool(fleet.notebooks) or fleet.studio is not None) and closed,
    }
    used[EndpointFeature.METRICS] = writes_to_prometheus(fleet) and closed
    return frozenset(feature for feature, is_used in used.items() if is_used)


def zone_path(network: NetworkConfig, *rest: PathPart) -> tuple[PathPart, ...]:
    """Return where the user named the AZs: `az`, or one of the list `azs`, or the network where neither is there."""
    if network.azs:
        return ("azs", *rest)
    return ("az",) if network.az is not None else ()


def _check_existing(network: NetworkConfig, fleet: Fleet) -> Iterator[Problem]:
    existing = network.vpc
    assert existing is not None
    for attribute in sorted(network.model_fields_set - {"vpc"}):
        yield Problem(
            code=Code.CONTRADICTION,
            message="this is for a network to be made, and `vpc` names one that exists",
            remedy="remove it, or remove `vpc`",
            path=(attribute,),
            value=getattr(network, attribute),
        )
    for problem in check_existing_network(
        vpc_id=existing.vpc_id,
        subnets=existing.subnets,
        security_group_id=existing.security_group_id,
        region=fleet.region,
        private_subnets=existing.private_subnets,
        public_subnets=existing.public_subnets,
        vpc_cidrs=existing.vpc_cidrs,
        compute_cidrs=existing.compute_cidrs,
    ):
        yield problem.under("vpc")


def _check_made(network: NetworkConfig, fleet: Fleet) -> Iterator[Problem]:
    if network.az is not None and network.azs:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`az` and `azs` say the same thing twice",
            remedy="keep `azs` for several AZs, `az` for one",
            path=("azs",),
            value=list(network.azs),
        )
        return
    for problem in check_network(
        availability_zone_ids=network.availability_zone_ids,
        cidr=network.cidr,
        compute_cidr=network.compute_cidr,
        internet=network.internet,
        endpoint_features=endpoint_features(fleet),
        endpoints=network.endpoints,
        flow_log_days=network.flow_log_days,
        interface_quota=network.interface_quota,
        region=fleet.region,
        load_balancer_zone_ids=network.load_balancer_zone_ids,
        without_endpoints=network.without_endpoints,
    ):
        zones = problem.path[:1] == ("availability_zone_ids",)
        yield replace(problem, path=zone_path(network, *problem.path[1:])) if zones else problem
