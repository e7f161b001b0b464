"""The inference services of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network_example import network_of_services
from llm_fleet.config.services.check_export import check_service_export
from llm_fleet.config.services.check_model_config import check_model_config
from llm_fleet.config.services.in_file import in_file
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.service import ServiceConfig
from llm_fleet.config.services.view import ServiceView
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_roles import check_tags
from llm_fleet.rules.inference.alarms import check_thresholds
from llm_fleet.rules.inference.check import check_service
from llm_fleet.rules.inference.closed_network import check_pulled_image
from llm_fleet.rules.inference.model_cache import default_cache_gib
from llm_fleet.rules.inference.service import check_grace, check_log_days, check_sick_hosts
from llm_fleet.rules.inference.terms import Capacity, ModelSource
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


def check_services(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the services of `fleet`, by attribute names."""
    for service in fleet.services.values():
        own = list(_check_own(service, fleet))
        judged = _judged(service, fleet)
        if any(problem.path[:1] == ("model",) for problem in own):
            judged = [problem for problem in judged if problem.path[:1] != ("model",)]
        found = [*own, *(in_file(problem, service) for problem in judged)]
        # An export asks of server and model what the service asks of them: what is wrong there is told once.
        found = found or list(check_service_export(service, region=fleet.region, internet=_internet(fleet)))
        yield from (problem.under("services", service.name) for problem in found)


def _judged(service: ServiceConfig, fleet: Fleet) -> list[Problem]:
    internet = _internet(fleet)
    view = ServiceView(config=service, fleet=fleet)
    problems = [
        *check_service(view, internet=internet, cache_gib=_cache_gib(service.model)),
        *(
            problem
            for name, image in service.sidecar_images.pulled(
                watched=service.watches_devices, replaced=service.watches_devices and service.replace_sick_hosts
            )
            for problem in check_pulled_image(image, "sidecar_images", name, region=fleet.region, internet=internet)
        ),
    ]
    if service.model.config is not None:  # What is wrong with the file is told of the file.
        problems = [problem for problem in problems if problem.code is not Code.MODEL_SHAPE_UNKNOWN]
    return problems


def _internet(fleet: Fleet) -> InternetAccess | None:
    """Return how the network leads out; `None` of one that exists already, of which nobody told."""
    network = fleet.network
    return network.internet if network is not None and network.vpc is None else None


def _cache_gib(model: ServedModelConfig) -> int | None:
    """Return what each host keeps of the model on its disk; `None` of one that is not in S3."""
    if model.source is not ModelSource.S3:
        return None
    return default_cache_gib(model.shape) if model.cache_gib is None else model.cache_gib


def _check_own(service: ServiceConfig, fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has, and with those that are of no part."""
    if fleet.network is None:
        yield Problem(
            code=Code.SERVICE_NETWORK,
            message="a service stands in a network: its load balancer and its hosts have addresses there",
            remedy=f"write `network: {network_of_services(fleet.region)}` in place of `network: none`, with AZs "
            "that have capacity",
        )
    yield from (problem.under("model") for problem in check_model_config(service.model, fleet))
    if service.export is not None:
        found = check_model_config(service.export.source, fleet)
        yield from (problem.under("export", "source") for problem in found)
    yield from check_log_days(service.log_retention_days)
    yield from check_grace(service.health_check_grace_seconds)
    yield from check_sick_hosts(
        replaced=service.replace_sick_hosts,
        watched=service.watches_devices,
        managed=service.hosts.capacity is Capacity.MANAGED_INSTANCES,
    )
    yield from check_tags(service.tags)
    yield from (problem.under("alarms") for problem in check_thresholds(service.alarms))
