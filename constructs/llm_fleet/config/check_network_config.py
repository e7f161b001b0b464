"""The network of a fleet file, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.fleet import Fleet
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
    if closed and fleet.monitoring is not None:
        from llm_fleet.config.monitoring.check_metrics import writes_to_prometheus

        used[EndpointFeature.METRICS] = writes_to_prometheus(fleet)
    return frozenset(feature for feature, is_used in used.items() if is_used)


def zone_path(network: NetworkConfig, *rest: PathPart) -> tuple[PathPart, ...]:
    """Return where the user named the AZs: `az`, or one of the list of them, or the network where neither is there."""
    if network.availability_zone_ids:
        return ("availability_zone_ids", *rest)
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
    for problem in check_existing_network(existing, region=fleet.region):
        yield problem.under("vpc")


def _check_made(network: NetworkConfig, fleet: Fleet) -> Iterator[Problem]:
    for problem in check_network(network, endpoint_features=endpoint_features(fleet), region=fleet.region):
        nowhere = problem.path == ("availability_zone_ids",) and not network.availability_zone_ids
        yield replace(problem, path=()) if nowhere else problem
