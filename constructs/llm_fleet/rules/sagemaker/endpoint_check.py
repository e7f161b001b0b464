"""All rules over an endpoint, for the construct and the fleet file alike."""

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_ami import check_ami
from llm_fleet.rules.sagemaker.endpoint_choice import variables
from llm_fleet.rules.sagemaker.endpoint_fit import check_fit
from llm_fleet.rules.sagemaker.endpoint_image import check_endpoint_image, check_image_alone, image_facts
from llm_fleet.rules.sagemaker.endpoint_instance import check_endpoint_instance, known_instance
from llm_fleet.rules.sagemaker.endpoint_model import check_endpoint_model, check_tarball_age
from llm_fleet.rules.sagemaker.endpoint_neuron import check_neuron, check_neuron_alone
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointLike
from llm_fleet.rules.sagemaker.endpoint_settings import (
    check_download_timeout,
    check_endpoint_name,
    check_environment,
    check_isolation,
    check_numbers,
    check_volume,
)
from llm_fleet.rules.terms import InternetAccess


def check_endpoint(endpoint: EndpointLike, *, internet: InternetAccess | None, in_network: bool) -> list[Problem]:
    """Return what is wrong with `endpoint`, by attribute names.

    `in_network`: whether it stands in a network of the user's. `internet`: how that leads out; `None` where nobody
    told.
    """
    instance = known_instance(endpoint.instance_type)
    alone = check_image_alone(endpoint.image)
    problems = [
        *check_endpoint_name(endpoint.name),
        *check_endpoint_instance(endpoint.instance_type),
        *_under("model", check_endpoint_model(endpoint.model)),
        *_under("model", check_tarball_age(endpoint.model, own_image=endpoint.image.uri is not None)),
        *alone,
        *check_numbers(endpoint),
        *check_download_timeout(endpoint.model, endpoint.download_timeout_seconds),
        *check_isolation(
            endpoint.model, isolated=endpoint.network_isolation is True, internet=internet, in_network=in_network
        ),
        *(() if endpoint.neuron is None else _under("neuron", check_neuron_alone(endpoint.neuron))),
    ]
    if instance is None:
        return [*problems, *check_environment(endpoint.environment, ours=())]
    told = {problem.path for problem in problems}
    of_instance = [
        *check_endpoint_image(endpoint.image, endpoint.model, instance, region=endpoint.region),
        *check_ami(endpoint.inference_ami, endpoint.image, instance),
        *check_fit(endpoint.model, endpoint.image, instance),
        *check_volume(endpoint.volume_gib, instance),
        *check_neuron(endpoint.neuron, endpoint.image, instance),
        *check_environment(endpoint.environment, ours=variables(endpoint, instance)),
    ]
    return [*problems, *(problem for problem in of_instance if problem.path not in told)]


def warning_of(endpoint: EndpointLike) -> str | None:
    """Return what was reported of the endpoint's image, for a warning; `None` where nothing was."""
    instance = known_instance(endpoint.instance_type)
    facts = image_facts(endpoint.image, instance) if instance else None
    return facts.warning if facts else None


def _under(prefix: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(prefix) for problem in problems]
