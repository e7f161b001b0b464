"""Checks of the inference services of a fleet file and their exports, with the same rules as the constructs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from llm_fleet.fleet_file.check_network import endpoint_features, zone_path
from llm_fleet.fleet_file.check_storage import check_no_own_key, check_own_bucket
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig, network_of_services
from llm_fleet.fleet_file.service import ServedModelConfig, ServiceConfig
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_tags
from llm_fleet.rules.inference.export import check_service_export
from llm_fleet.rules.inference.front import check_front_place
from llm_fleet.rules.inference.model import check_place
from llm_fleet.rules.inference.service import check_service
from llm_fleet.rules.network import check_load_balancer_room, interface_endpoints
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.terms import InternetAccess


def check_shape_source(*, shape: object | None, config: str | None, unread: Sequence[Problem]) -> Iterator[Problem]:
    """Check that the sizes are set only once, either as numbers or with the file `config`.

    `unread`: errors in that file.
    """
    if shape is not None and config is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            message="set only one of `shape` and `config`",
            remedy="remove one of them",
            path=("config",),
            value=config,
        )
    yield from (replace(problem, path=("config",), value=config) for problem in unread)


_MADE = (
    (re.compile(r"\b(\w+)='([^']*)'"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=(\d+)\b"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=False\b"), r"`\1: false`"),
    (re.compile(r"\b(\w+)=True\b"), r"`\1: true`"),
    (re.compile(r"\bmaximum (\d+)"), r"`max: \1`"),
    (re.compile(r"\bminimum (\d+)"), r"`min: \1`"),
    (re.compile(r"`maximum`"), "`max`"),
    (re.compile(r"`minimum`"), "`min`"),
    (re.compile(r"; in Python, Ec2InstanceType[^;]*"), ""),
    (re.compile(r"\bModelExport\b"), "`export`"),
    (re.compile(r"\bEc2Hosts\b"), "`hosts: ec2`"),
    (re.compile(r"\bManagedHosts\b"), "`hosts: managed-instances`"),
)
"""Texts of remedies for Python, and those for a fleet file."""


def in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's keys in its message, in `allowed` and in the remedy."""
    return replace(
        problem,
        message=_translated(problem.message),
        allowed=_translated(problem.allowed),
        remedy=_translated(problem.remedy),
    )


def _translated(text: str) -> str:
    for pattern, words in _MADE:
        text = pattern.sub(words, text)
    return text


def check_services(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the services of `fleet`, by attribute names."""
    internet = fleet.way_out
    for service in fleet.services.values():
        own = list(_check_own(service, fleet))
        spec = service.in_fleet(fleet.name, fleet.storage.buckets)
        checked = [in_words(problem) for problem in check_service(spec, region=fleet.region, internet=internet)]
        if service.model.config is not None:  # Errors in the file are reported with the file.
            checked = [problem for problem in checked if problem.code is not Code.MODEL_SHAPE_UNKNOWN]
        if any(problem.path[:1] == ("model",) for problem in own):
            checked = [problem for problem in checked if problem.path[:1] != ("model",)]
        found = [*own, *checked]
        # Service and export share rules of server and model; each error is reported once.
        found = found or list(_check_service_export(service, fleet, internet))
        yield from (problem.under("services", service.name) for problem in found)


def _check_own(service: ServiceConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the keys that only a fleet file has."""
    if fleet.network is None:
        yield Problem(
            code=Code.SERVICE_NETWORK,
            message="a service requires a network, for its load balancer and its hosts",
            remedy=f"write `network: {network_of_services(fleet.region)}` instead of `network: none`, with AZs "
            "that have capacity",
        )
    yield from (problem.under("model") for problem in _check_model(service.model, fleet))
    if service.export is not None and not is_unresolved(service.export):
        yield from (problem.under("export", "source") for problem in _check_model(service.export.source, fleet))
    yield from check_tags(service.tags)


def _check_model(model: ServedModelConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the location of `model`, by its attribute names. With such errors nothing else is
    checked."""
    yield from map(in_words, check_place(model))
    yield from check_own_bucket(model.bucket, fleet, "bucket", otherwise="`s3: s3://<bucket>/<folder>`")
    yield from check_no_own_key(model.key_arn, model.own_bucket(fleet.storage.buckets))
    yield from check_shape_source(shape=model.shape, config=model.config, unread=model.unread)


def _check_service_export(service: ServiceConfig, fleet: Fleet, internet: InternetAccess | None) -> Iterator[Problem]:
    """Return the errors in the export of `service`. Call this only for a service without errors."""
    if service.export is not None and not is_unresolved(service.export):
        export = service.export.in_fleet(fleet.storage.buckets, service.model)
        for problem in check_service_export(service, export, region=fleet.region, internet=internet):
            yield in_words(problem)


def check_front_places(fleet: Fleet) -> Iterator[Problem]:
    """Return where a load balancer cannot be placed, by attribute names. Call this only for a network without
    errors."""
    network = fleet.network
    if network is None:
        return
    for name, service in fleet.services.items():
        public = service.front.public
        if public and network.way_out is InternetAccess.NONE:
            continue  # Reported with the service, as are its other errors there.
        for problem in check_front_place(
            service.front,
            zones=_zones(network, public=public),
            target_zones=network.zones,
            vpc_cidrs=(network.cidr, network.compute_cidr) if network.vpc is None else network.vpc.vpc_cidrs,
            internet=network.way_out,
        ):
            yield replace(in_words(problem), path=_path(problem, network, name, public=public))
        if network.vpc is None:
            yield from check_load_balancer_room(network.cidr, others=_others(fleet, network, public=public))


def _zones(network: NetworkConfig, *, public: bool) -> tuple[str, ...]:
    """Return the AZs with a subnet for load balancers."""
    existing = network.vpc
    if existing is None:
        return (*network.zones, *network.load_balancer_zone_ids)
    return tuple(existing.public_subnets if public else existing.private_subnets or existing.subnets)


def _others(fleet: Fleet, network: NetworkConfig, *, public: bool) -> int:
    """Return the number of other interfaces in such a subnet: a NAT gateway, or the endpoints."""
    if public:
        return 1
    return len(interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints))


def _path(problem: Problem, network: NetworkConfig, service: str, *, public: bool) -> tuple[PathPart, ...]:
    """Return the path of the value to change."""
    first, *rest = problem.path
    if first != "network":
        return ("services", service, *problem.path)
    if network.vpc is not None:
        key = "public_subnets" if public else "private_subnets"
        return ("network", "vpc", key if getattr(network.vpc, key) else "subnets")
    return ("network", *zone_path(network)) if rest[0] == "availability_zone_ids" else problem.path
