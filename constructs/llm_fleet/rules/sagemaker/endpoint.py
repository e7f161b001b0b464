"""All rules over an endpoint, and what it gets where its user wrote nothing: variables, waits, a volume."""

import math
from collections.abc import Collection, Iterator, Mapping

from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_settings
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.service import load_seconds
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.inference.fit import GIB
from llm_fleet.rules.problem import Problem, is_unresolved, rule, under
from llm_fleet.rules.sagemaker.endpoint_image import (
    check_ami,
    check_endpoint_image,
    check_endpoint_instance,
    check_image_alone,
    image_facts,
    image_kind,
    known_instance,
)
from llm_fleet.rules.sagemaker.endpoint_model import (
    check_endpoint_model,
    check_fit,
    check_neuron,
    check_tarball_age,
    weights_bytes,
)
from llm_fleet.rules.sagemaker.endpoint_operations import check_endpoint_operations
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import check_retention_days
from llm_fleet.spec.endpoint import EndpointImageKind, EndpointModelSource, EndpointSpec


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
        return [*problems, *check_environment(endpoint, ours=())]
    known = {problem.path for problem in problems}
    of_instance = [
        *check_endpoint_image(endpoint.image, endpoint.model, instance, region=region),
        *check_ami(endpoint.inference_ami, endpoint.image, instance),
        *check_fit(endpoint.model, endpoint.image, instance),
        *check_volume(endpoint, instance),
        *check_neuron(endpoint.neuron, endpoint.image, instance),
        *check_environment(endpoint, ours=variables(endpoint, instance)),
    ]
    return [*problems, *(problem for problem in of_instance if problem.path not in known)]


def _check_by_itself(endpoint: EndpointSpec, *, internet: InternetAccess | None, in_network: bool) -> Iterator[Problem]:
    """Return what is wrong with `endpoint` on any instance."""
    model = endpoint.model
    yield from [] if endpoint.name is None else check_endpoint_name(endpoint.name)
    yield from check_endpoint_instance(endpoint.instance_type)
    of_model = [*check_endpoint_model(model), *check_tarball_age(model, own_image=endpoint.image.uri is not None)]
    yield from under(of_model, "model")
    yield from check_image_alone(endpoint.image)
    yield from check_fields(endpoint)
    yield from check_download_timeout(endpoint)
    yield from check_isolation(endpoint, internet=internet, in_network=in_network)
    yield from check_retention_days(endpoint.log_retention_days, SageMakerCode.ENDPOINT_NUMBER, "log_retention_days")


def warning_of(endpoint: EndpointSpec) -> str | None:
    """Return what was reported of the endpoint's image, for a warning; `None` where nothing was."""
    instance = known_instance(endpoint.instance_type)
    facts = image_facts(endpoint.image, instance) if instance else None
    return facts.warning if facts else None


@rule
def check_endpoint_name(name: str) -> Iterator[Problem]:
    """Return a problem unless SageMaker takes `name` for an endpoint."""
    limit = endpoint_settings().name
    if is_unresolved(name) or not limit.fits(name):
        yield Problem(
            code=SageMakerCode.NAME,
            path=("name",),
            message="the name is not known at synth, and log group, alarms and permissions are made of it"
            if is_unresolved(name)
            else "SageMaker takes no such name for an endpoint",
            value=name,
            allowed=f"1 to {limit.maximum} letters, digits and hyphens, a letter or digit at both ends",
            remedy="write a short name such as gpt-j, or leave it out for one made of the construct's path",
        )


def check_download_timeout(endpoint: EndpointSpec) -> Iterator[Problem]:
    """Return a problem for a wait for data of S3 where the container downloads the model by itself."""
    if endpoint.download_timeout_seconds is not None and endpoint.model.source is EndpointModelSource.HUB:
        yield endpoint.wrong(
            "download_timeout_seconds",
            SageMakerCode.ENDPOINT_NUMBER,
            "a model of the Hub is downloaded by the container, within the time that it has to start",
            "leave it out, and write startup_timeout_seconds if the default is too short",
        )


def check_volume(endpoint: EndpointSpec, instance: EndpointInstance) -> Iterator[Problem]:
    """Return a problem for an EBS volume of an instance that has disks of its own."""
    if endpoint.volume_gib is not None and instance.local_disk_gb:
        yield endpoint.wrong(
            "volume_gib",
            SageMakerCode.ENDPOINT_VOLUME,
            f"{instance.name} keeps image and model on its own {instance.local_disk_gb} GB of NVMe disks, and "
            "SageMaker gives it no volume",
            "leave it out, or take an instance type without local disks",
        )


def check_isolation(endpoint: EndpointSpec, *, internet: InternetAccess | None, in_network: bool) -> Iterator[Problem]:
    """Return a problem when the container cannot reach the Hub that it has its model from."""
    model = endpoint.model
    if model.source is not EndpointModelSource.HUB:
        return
    if endpoint.network_isolation is True:
        yield endpoint.wrong(
            "network_isolation",
            SageMakerCode.ENDPOINT_ISOLATED,
            "the container has no network, and would have to download its model from the Hub",
            "copy the model into a bucket and name it as s3://…, which SageMaker fetches for it; or leave the "
            "isolation out",
        )
    elif in_network and internet == InternetAccess.NONE:
        yield model.wrong(
            model.place,
            Code.CLOSED_NETWORK,
            "a model of the Hub is downloaded when an instance starts, and this network has no way there",
            "copy the model into a bucket and name it as s3://…, or give the network a NAT gateway",
            allowed="a model in S3",
            value=model.location,
        ).under("model")


@rule
def check_environment(endpoint: EndpointSpec, *, ours: Collection[str]) -> Iterator[Problem]:
    """Return what is wrong with further variables of the container; `ours`: names that are set already."""
    facts, given = endpoint_settings(), endpoint.environment
    for key, value in given.items():
        yield from _variable(endpoint, key, value, ours)
    count, size = len(given) + len(ours), sum(len(key) + len(str(value)) for key, value in given.items())
    if not facts.environment.holds(count) or size > facts.environment_bytes:
        yield endpoint.wrong(
            "environment",
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            f"the container would have {count} variables, the further ones of {size} bytes together",
            "put longer settings into a file beside the model",
            allowed=f"{facts.environment.range} variables, {facts.environment_bytes} bytes together",
        )


def _variable(endpoint: EndpointSpec, key: str, value: str, ours: Collection[str]) -> Iterator[Problem]:
    facts, field = endpoint_settings(), ("environment", key)
    if key.upper() in facts.secret_environment:
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_TOKEN,
            "SageMaker brings no secret into a container's environment: the text would be in the template, and "
            "DescribeModel tells it to everybody who may look",
            "copy the gated model into a bucket once, with the token, and name it as s3://…",
            value=None,
        )
    elif key in ours:
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            "this variable follows from model, image and instance, and would be said twice",
            "leave it out here, and say it of the model or by the Neuron settings",
        )
    elif key.startswith(facts.reserved_environment):
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            "SageMaker sets variables of this beginning by itself",
            "leave it out",
        )
    elif not facts.environment_key.fits(key) or not (is_unresolved(value) or facts.environment_value.holds(len(value))):
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            "SageMaker takes no such variable",
            "shorten it, and write numbers as text",
            allowed=f"letters, digits and underscores, no digit first; a text of {facts.environment_value.range}",
        )


MODEL_FOLDER = "/opt/ml/model"
"""Where SageMaker lays down what it fetches from S3 (its guide: your own inference code)."""


def variables(endpoint: EndpointSpec, instance: EndpointInstance) -> Mapping[str, str]:
    """Return the variables by which the image is told of model, accelerators and Neuron settings.

    None for an image of the user's own, except where the model is on the Hub: that no image could know else.
    """
    kind = image_kind(endpoint.image, instance)
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    place = endpoint.model.location if on_hub else MODEL_FOLDER
    neuron = instance.accelerator == "neuron"
    if kind is EndpointImageKind.VLLM:
        reported = _vllm_neuron(endpoint, instance, place) if neuron else _vllm(endpoint, instance, place)
    elif kind is EndpointImageKind.TGI:
        reported = _tgi_neuron(endpoint, instance, place) if neuron else _tgi(endpoint, instance, place)
    else:
        reported = _hugging_face(endpoint)
    return {key: str(value) for key, value in reported.items() if value is not None}


def startup_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int:
    """Return how long a container may take to its first healthy answer, unless told otherwise."""
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    return endpoint.startup_timeout_seconds or _bounded(
        load_seconds(
            weights_gib=_weights_gib(endpoint, instance),
            source="hub" if on_hub else "s3",
            compiled=not (on_hub and instance.accelerator == "neuron"),
        )
    )


def download_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Return how long SageMaker may take to fetch and unpack the model; `None` for one that is not in S3."""
    if endpoint.model.source is EndpointModelSource.HUB:
        return None
    seconds = load_seconds(weights_gib=_weights_gib(endpoint, instance), source="s3", compiled=True)
    return endpoint.download_timeout_seconds or _bounded(seconds)


def volume_gib(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Return the size of an instance's EBS volume; `None` for an instance that has disks of its own."""
    if instance.local_disk_gb:
        return None
    facts, weights = endpoint_settings(), weights_bytes(endpoint.model)
    if endpoint.volume_gib is not None:
        return endpoint.volume_gib
    if weights is None:
        return facts.default_volume_gib
    needed = facts.image_gib + math.ceil(2 * weights / GIB)  # the archive or cache, and the files themselves
    return min(max(needed, facts.default_volume_gib), facts.volume_gib.maximum or needed)


def _weights_gib(endpoint: EndpointSpec, instance: EndpointInstance) -> float:
    """A model of unknown size is as large as the memory that it is to be held in."""
    weights = weights_bytes(endpoint.model)
    if weights is not None:
        return weights / GIB
    if instance.accelerator_mib is not None:
        return instance.accelerators * instance.accelerator_mib / 1024
    return instance.memory_gib or 0


def _bounded(seconds: int) -> int:
    limit = endpoint_settings().timeout_seconds
    return max(limit.minimum or 0, min(seconds, limit.maximum or seconds))


def _vllm(endpoint: EndpointSpec, instance: EndpointInstance, place: str) -> dict[str, object]:
    """Each `SM_VLLM_<NAME>` becomes `--<name>` of `vllm serve` (guide to vLLM of AWS's Deep Learning Containers)."""
    return {
        "SM_VLLM_MODEL": place,
        "SM_VLLM_REVISION": endpoint.model.revision,
        "SM_VLLM_TENSOR_PARALLEL_SIZE": instance.accelerators,
    }


def _vllm_neuron(endpoint: EndpointSpec, instance: EndpointInstance, place: str) -> dict[str, object]:
    """Each `SM_ON_<NAME>` becomes `--<name>` of `optimum-cli neuron serve` (optimum-neuron's Dockerfile)."""
    neuron = endpoint.neuron
    return {
        "SM_ON_MODEL": place,
        "SM_ON_REVISION": endpoint.model.revision,
        "SM_ON_TENSOR_PARALLEL_SIZE": _cores(endpoint, instance),
        "SM_ON_BATCH_SIZE": neuron and neuron.batch_size,
        "SM_ON_SEQUENCE_LENGTH": neuron and neuron.sequence_length,
    }


def _tgi(endpoint: EndpointSpec, instance: EndpointInstance, place: str) -> dict[str, object]:
    return {
        "HF_MODEL_ID": place,
        "HF_MODEL_REVISION": endpoint.model.revision,
        "SM_NUM_GPUS": instance.accelerators,
        "USAGE_STATS": "off",  # the server reports to its makers otherwise
    }


def _tgi_neuron(endpoint: EndpointSpec, instance: EndpointInstance, place: str) -> dict[str, object]:
    neuron = endpoint.neuron
    return {
        "HF_MODEL_ID": place,
        "HF_MODEL_REVISION": endpoint.model.revision,
        "HF_NUM_CORES": _cores(endpoint, instance),
        "HF_AUTO_CAST_TYPE": neuron and "bf16",
        "MAX_BATCH_SIZE": neuron and neuron.batch_size,
        "MAX_TOTAL_TOKENS": neuron and neuron.sequence_length,
        "USAGE_STATS": "off",
    }


def _hugging_face(endpoint: EndpointSpec) -> dict[str, object]:
    """Source: sagemaker-huggingface-inference-toolkit, transformers_utils.py and its README (Neuron)."""
    model, neuron = endpoint.model, endpoint.neuron
    return {
        "HF_MODEL_ID": model.location if model.source is EndpointModelSource.HUB else None,
        "HF_MODEL_REVISION": model.revision,
        "HF_TASK": model.task,
        "HF_OPTIMUM_BATCH_SIZE": neuron and neuron.batch_size,
        "HF_OPTIMUM_SEQUENCE_LENGTH": neuron and neuron.sequence_length,
    }


def _cores(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Without settings the server takes what the model was exported for."""
    if endpoint.neuron is None:
        return None
    facts = neuron_instance(instance.ec2_name)
    return endpoint.neuron.cores or (facts.cores if facts else None)
