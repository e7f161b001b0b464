"""All rules over an endpoint, for the construct and the fleet file alike."""

from collections.abc import Collection, Iterator, Mapping

from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_settings
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_choice import variables
from llm_fleet.rules.sagemaker.endpoint_image import (
    check_ami,
    check_endpoint_image,
    check_endpoint_instance,
    check_image_alone,
    image_facts,
    known_instance,
)
from llm_fleet.rules.sagemaker.endpoint_model import (
    check_endpoint_model,
    check_fit,
    check_neuron,
    check_tarball_age,
)
from llm_fleet.rules.sagemaker.endpoint_operations import check_endpoint_operations
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_retention_days
from llm_fleet.spec.endpoint import EndpointModel, EndpointModelSource, EndpointSpec


def check_endpoint(
    endpoint: EndpointSpec,
    *,
    region: str | None,
    internet: InternetAccess | None,
    in_network: bool,
    has_topic: bool,
) -> list[Problem]:
    """Return what is wrong with `endpoint`, by attribute names.

    - `region`: where it is; `None` where that is known only at deploy time.
    - `in_network`: whether it stands in a network of the user's. `internet`: how that leads out; `None` where that is
      not known.
    - `has_topic`: whether alarms have a topic.
    """
    instance = known_instance(endpoint.instance_type)
    problems = [
        *_check_by_itself(endpoint, internet=internet, in_network=in_network),
        *check_endpoint_operations(endpoint, has_topic=has_topic),
    ]
    if instance is None:
        return [*problems, *check_environment(endpoint.environment, ours=())]
    known = {problem.path for problem in problems}
    of_instance = [
        *check_endpoint_image(endpoint.image, endpoint.model, instance, region=region),
        *check_ami(endpoint.inference_ami, endpoint.image, instance),
        *check_fit(endpoint.model, endpoint.image, instance),
        *check_volume(endpoint.volume_gib, instance),
        *check_neuron(endpoint.neuron, endpoint.image, instance),
        *check_environment(endpoint.environment, ours=variables(endpoint, instance)),
    ]
    return [*problems, *(problem for problem in of_instance if problem.path not in known)]


def _check_by_itself(endpoint: EndpointSpec, *, internet: InternetAccess | None, in_network: bool) -> Iterator[Problem]:
    """Return what is wrong with `endpoint` on any instance."""
    model = endpoint.model
    yield from [] if endpoint.name is None else check_endpoint_name(endpoint.name)
    yield from check_endpoint_instance(endpoint.instance_type)
    of_model = [*check_endpoint_model(model), *check_tarball_age(model, own_image=endpoint.image.uri is not None)]
    yield from (problem.under("model") for problem in of_model)
    yield from check_image_alone(endpoint.image)
    yield from check_fields(endpoint)
    yield from check_download_timeout(model, endpoint.download_timeout_seconds)
    yield from check_isolation(
        model, isolated=endpoint.network_isolation is True, internet=internet, in_network=in_network
    )
    yield from check_retention_days(endpoint.log_retention_days, SageMakerCode.ENDPOINT_NUMBER, "log_retention_days")


def warning_of(endpoint: EndpointSpec) -> str | None:
    """Return what was reported of the endpoint's image, for a warning; `None` where nothing was."""
    instance = known_instance(endpoint.instance_type)
    facts = image_facts(endpoint.image, instance) if instance else None
    return facts.warning if facts else None


def check_endpoint_name(name: str) -> Iterator[Problem]:
    """Return a problem unless SageMaker takes `name` for an endpoint."""
    limit = endpoint_settings().name
    if is_unresolved(name):
        message = "the name is not known at synth, and log group, alarms and permissions are made of it"
    elif limit.matches(name) and limit.holds(len(name)):
        return
    else:
        message = "SageMaker takes no such name for an endpoint"
    yield Problem(
        code=SageMakerCode.NAME,
        path=("name",),
        message=message,
        value=name,
        allowed=f"1 to {limit.maximum} letters, digits and hyphens, a letter or digit at both ends",
        remedy="write a short name such as gpt-j, or leave it out for one made of the construct's path",
    )


def check_download_timeout(model: EndpointModel, seconds: int | None) -> Iterator[Problem]:
    """Return a problem for a wait for data of S3 where the container downloads the model by itself."""
    if seconds is not None and model.source is EndpointModelSource.HUB:
        yield Problem(
            code=SageMakerCode.ENDPOINT_NUMBER,
            path=("download_timeout_seconds",),
            message="a model of the Hub is downloaded by the container, within the time that it has to start",
            value=seconds,
            remedy="leave it out, and write startup_timeout_seconds if the default is too short",
        )


def check_volume(volume_gib: int | None, instance: EndpointInstance) -> Iterator[Problem]:
    """Return a problem for an EBS volume of an instance that has disks of its own."""
    if volume_gib is not None and instance.local_disk_gb:
        yield Problem(
            code=SageMakerCode.ENDPOINT_VOLUME,
            path=("volume_gib",),
            message=f"{instance.name} keeps image and model on its own {instance.local_disk_gb} GB of NVMe disks, and "
            "SageMaker gives it no volume",
            value=volume_gib,
            remedy="leave it out, or take an instance type without local disks",
        )


def check_isolation(
    model: EndpointModel, *, isolated: bool, internet: InternetAccess | None, in_network: bool
) -> Iterator[Problem]:
    """Return a problem when the container cannot reach the Hub that it has its model from."""
    if model.source is not EndpointModelSource.HUB:
        return
    if isolated:
        yield Problem(
            code=SageMakerCode.ENDPOINT_ISOLATED,
            path=("network_isolation",),
            message="the container has no network, and would have to download its model from the Hub",
            value=True,
            remedy="copy the model into a bucket and name it as s3://…, which SageMaker fetches for it; or leave the "
            "isolation out",
        )
    elif in_network and internet == InternetAccess.NONE:
        yield Problem(
            code=Code.CLOSED_NETWORK,
            path=("model", model.place),
            message="a model of the Hub is downloaded when an instance starts, and this network has no way there",
            value=model.location,
            allowed="a model in S3",
            remedy="copy the model into a bucket and name it as s3://…, or give the network a NAT gateway",
        )


def check_environment(environment: Mapping[str, str], *, ours: Collection[str]) -> list[Problem]:
    """Return what is wrong with further variables of the container; `ours`: names that are set already."""
    facts = endpoint_settings()
    problems = [problem for key, value in environment.items() for problem in _variable(key, value, ours)]
    count, size = len(environment) + len(ours), sum(len(key) + len(str(value)) for key, value in environment.items())
    if not facts.environment.holds(count) or size > facts.environment_bytes:
        problems.append(
            Problem(
                code=SageMakerCode.ENDPOINT_ENVIRONMENT,
                path=("environment",),
                message=f"the container would have {count} variables, the further ones of {size} bytes together",
                allowed=f"{facts.environment.range} variables, {facts.environment_bytes} bytes together",
                remedy="put longer settings into a file beside the model",
            )
        )
    return problems


def _variable(key: str, value: str, ours: Collection[str]) -> Iterator[Problem]:
    facts = endpoint_settings()
    if key.upper() in facts.secret_environment:
        yield Problem(
            code=SageMakerCode.ENDPOINT_TOKEN,
            path=("environment", key),
            message="SageMaker brings no secret into a container's environment: the text would be in the template, and "
            "DescribeModel tells it to everybody who may look",
            remedy="copy the gated model into a bucket once, with the token, and name it as s3://…",
        )
    elif key in ours:
        yield Problem(
            code=SageMakerCode.ENDPOINT_ENVIRONMENT,
            path=("environment", key),
            message="this variable follows from model, image and instance, and would be said twice",
            value=value,
            remedy="leave it out here, and say it of the model or by the Neuron settings",
        )
    elif key.startswith(facts.reserved_environment):
        yield Problem(
            code=SageMakerCode.ENDPOINT_ENVIRONMENT,
            path=("environment", key),
            message="SageMaker sets variables of this beginning by itself",
            value=value,
            remedy="leave it out",
        )
    elif not _fits(key, value):
        yield Problem(
            code=SageMakerCode.ENDPOINT_ENVIRONMENT,
            path=("environment", key),
            message="SageMaker takes no such variable",
            value=value,
            allowed=f"letters, digits and underscores, no digit first; a text of {facts.environment_value.range}",
            remedy="shorten it, and write numbers as text",
        )


def _fits(key: str, value: object) -> bool:
    facts = endpoint_settings()
    named = facts.environment_key.matches(key) and facts.environment_key.holds(len(key))
    return named and isinstance(value, str) and (is_unresolved(value) or facts.environment_value.holds(len(value)))
