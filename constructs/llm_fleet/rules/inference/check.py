"""All rules of an inference service, its parts' and those between them, in the order of its parts."""

from llm_fleet.rules.inference.closed_network import check_closed_network
from llm_fleet.rules.inference.compiled import check_compiled
from llm_fleet.rules.inference.driver import check_driver, driver_for
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.front import check_front
from llm_fleet.rules.inference.host_ami import check_driver_source
from llm_fleet.rules.inference.hosts import check_hosts, check_hosts_with
from llm_fleet.rules.inference.model import check_model
from llm_fleet.rules.inference.protocols import ServiceLike
from llm_fleet.rules.inference.scaling import check_scaling
from llm_fleet.rules.inference.server import check_server, check_server_on
from llm_fleet.rules.inference.service import check_service_name
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


def check_service(
    service: ServiceLike, *, internet: InternetAccess | None = None, cache_gib: int | None = None
) -> list[Problem]:
    """Return everything that is wrong with `service`, each mistake once; a good one gives nothing.

    A path begins with the part: `name`, `server`, `model`, `hosts`, `front` or `scaling`. `internet`: whether its
    network has a way out; `None` when nobody told. `cache_gib`: what a host keeps of the model on its root volume.
    """
    server, model, hosts = service.server, service.model, service.hosts
    of_server = _under("server", check_server(server))
    on_instance = _under("server", check_server_on(server, hosts.instance_type, service.region))
    of_model = _under("model", [*check_model(model), *check_compiled(server, model)])
    problems = [
        *check_service_name(service.name),
        *of_server,
        *on_instance,
        *of_model,
        *_under("hosts", _hosts(service, internet, cache_gib)),
        *_under("front", check_front(service.front, region=service.region)),
        *_under("scaling", check_scaling(service.scaling)),
        *check_closed_network(service, internet),
    ]
    if not (of_server or on_instance or of_model):
        # How much memory a server takes is only known of one that runs there, and of a model that it can serve.
        problems += _under("hosts", check_fit(server, model, hosts.instance_type))
    return problems


def _hosts(service: ServiceLike, internet: InternetAccess | None, cache_gib: int | None) -> list[Problem]:
    """Return what is wrong with the hosts, alone and under this server and model; a mistake alone hides the others."""
    server, hosts = service.server, service.hosts
    alone = check_hosts(hosts) or check_driver(server, hosts.driver_version)
    if alone:
        return alone
    return [
        *check_hosts_with(hosts, server=server, model=service.model, cache_gib=cache_gib),
        *check_driver_source(hosts, hosts.driver_version or driver_for(server), internet=internet),
    ]


def _under(part: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(part) for problem in problems]
