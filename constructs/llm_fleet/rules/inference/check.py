"""All rules of an inference service, its parts' and those between them, in the order of its parts."""

from llm_fleet.rules.inference.closed_network import check_closed_network
from llm_fleet.rules.inference.driver import check_driver
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.front import check_front
from llm_fleet.rules.inference.model import check_model
from llm_fleet.rules.inference.protocols import ServiceLike
from llm_fleet.rules.inference.scaling import check_scaling
from llm_fleet.rules.inference.server import check_server, check_server_on
from llm_fleet.rules.inference.service import check_service_name
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


def check_service(service: ServiceLike, *, internet: InternetAccess | None = None) -> list[Problem]:
    """Return everything that is wrong with `service`, each mistake once; a good one gives nothing.

    A path begins with the part: `name`, `server`, `model`, `hosts`, `front` or `scaling`. `internet`: whether its
    network has a way out; `None` when nobody told.
    """
    server, model, hosts = service.server, service.model, service.hosts
    of_server = _under("server", check_server(server))
    on_instance = _under("server", check_server_on(server, hosts.instance_type, service.region))
    of_model = _under("model", check_model(model))
    problems = [
        *check_service_name(service.name),
        *of_server,
        *on_instance,
        *of_model,
        *_under("hosts", check_driver(server, hosts.driver_version)),
        *_under("front", check_front(service.front, region=service.region)),
        *_under("scaling", check_scaling(service.scaling)),
        *check_closed_network(service, internet),
    ]
    if not (of_server or on_instance or of_model):
        # How much memory a server takes is only known of one that runs there, and of a model whose numbers are right.
        problems += _under("hosts", check_fit(server, model, hosts.instance_type))
    return once(problems)


def once(problems: list[Problem]) -> list[Problem]:
    """Return `problems` without those that tell the same mistake of the same place a second time."""
    told = {(problem.code, problem.path, problem.message): problem for problem in reversed(problems)}
    return list(told.values())[::-1]


def _under(part: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(part) for problem in problems]
