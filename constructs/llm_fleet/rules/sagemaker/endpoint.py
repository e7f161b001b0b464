"""All rules for an endpoint, and its defaults: environment variables, timeouts, volume size."""

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

    - `region`: its region; `None` when that is resolved at deployment.
    - `in_network`: whether it is in a network of the user. `internet`: that network's internet access; `None` when
      unknown.
    - `has_topic`: whether the alarms have an SNS topic.
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
    """Return what is wrong with `endpoint` whatever its instance type."""
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
    """Return the catalog's warning about the endpoint's image; `None` when there is none."""
    instance = known_instance(endpoint.instance_type)
    facts = image_facts(endpoint.image, instance) if instance else None
    return facts.warning if facts else None


@rule
def check_endpoint_name(name: str) -> Iterator[Problem]:
    """Return a problem unless SageMaker accepts `name` for an endpoint."""
    limit = endpoint_settings().name
    if is_unresolved(name) or not limit.fits(name):
        yield Problem(
            code=SageMakerCode.NAME,
            path=("name",),
            message="`name` is a CDK token, and the names of log group, alarms and IAM permissions need it at synth"
            if is_unresolved(name)
            else "SageMaker rejects this endpoint name",
            value=name,
            allowed=f"1 to {limit.maximum} letters, digits and hyphens, with a letter or digit at both ends",
            remedy="write a short name such as gpt-j, or remove it: the default is made from the construct's path",
        )


def check_download_timeout(endpoint: EndpointSpec) -> Iterator[Problem]:
    """Return a problem for a timeout of the download from S3 when the container downloads the model from the Hub."""
    if endpoint.download_timeout_seconds is not None and endpoint.model.source is EndpointModelSource.HUB:
        yield endpoint.wrong(
            "download_timeout_seconds",
            SageMakerCode.ENDPOINT_NUMBER,
            "this setting has no effect: the container downloads a model of the Hub itself, within its startup timeout",
            "remove it, and set startup_timeout_seconds if the default is too short",
        )


def check_volume(endpoint: EndpointSpec, instance: EndpointInstance) -> Iterator[Problem]:
    """Return a problem for an EBS volume on an instance type with local disks."""
    if endpoint.volume_gib is not None and instance.local_disk_gb:
        yield endpoint.wrong(
            "volume_gib",
            SageMakerCode.ENDPOINT_VOLUME,
            f"{instance.name} stores image and model on {instance.local_disk_gb} GB of local NVMe disks, and "
            "SageMaker attaches no EBS volume to it",
            "remove the volume size, or choose an instance type without local disks",
        )


def check_isolation(endpoint: EndpointSpec, *, internet: InternetAccess | None, in_network: bool) -> Iterator[Problem]:
    """Return a problem when the container cannot reach the Hub from which it downloads its model."""
    model = endpoint.model
    if model.source is not EndpointModelSource.HUB:
        return
    if endpoint.network_isolation is True:
        yield endpoint.wrong(
            "network_isolation",
            SageMakerCode.ENDPOINT_ISOLATED,
            "with network isolation the container cannot download its model from the Hugging Face Hub",
            "copy the model to a bucket and write its s3:// URI, so that SageMaker downloads it; or remove the network "
            "isolation",
        )
    elif in_network and internet == InternetAccess.NONE:
        yield model.wrong(
            model.place,
            Code.CLOSED_NETWORK,
            "an instance downloads a model of the Hugging Face Hub when it starts, and this network has no internet "
            "access",
            "copy the model to a bucket and write its s3:// URI, or give the network a NAT gateway",
            allowed="a model in S3",
            value=model.location,
        ).under("model")


@rule
def check_environment(endpoint: EndpointSpec, *, ours: Collection[str]) -> Iterator[Problem]:
    """Return what is wrong with the user's environment variables; `ours`: names that llm-fleet sets."""
    facts, given = endpoint_settings(), endpoint.environment
    for key, value in given.items():
        yield from _variable(endpoint, key, value, ours)
    count, size = len(given) + len(ours), sum(len(key) + len(str(value)) for key, value in given.items())
    if not facts.environment.holds(count) or size > facts.environment_bytes:
        yield endpoint.wrong(
            "environment",
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            f"`environment` is too large: {count} variables in all, and those written here have {size} bytes",
            "move long settings to a file next to the model",
            allowed=f"{facts.environment.range} variables, {facts.environment_bytes} bytes in total",
        )


def _variable(endpoint: EndpointSpec, key: str, value: str, ours: Collection[str]) -> Iterator[Problem]:
    facts, field = endpoint_settings(), ("environment", key)
    if key.upper() in facts.secret_environment:
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_TOKEN,
            "a secret must not be an environment variable: it would be readable in the template and in the output of "
            "DescribeModel",
            "copy the gated model to a bucket once, with the token, and write its s3:// URI",
            value=None,
        )
    elif key in ours:
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            "llm-fleet sets this variable from model, image and instance type",
            "remove it here, and set it in `model` or `neuron`",
        )
    elif key.startswith(facts.reserved_environment):
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            f"names of variables that begin with {', '.join(facts.reserved_environment)} are reserved by SageMaker",
            "remove it",
        )
    elif not facts.environment_key.fits(key) or not (is_unresolved(value) or facts.environment_value.holds(len(value))):
        yield endpoint.wrong(
            field,
            SageMakerCode.ENDPOINT_ENVIRONMENT,
            "SageMaker rejects this environment variable",
            "shorten its name or value, and write numbers as text",
            allowed=f"letters, digits and underscores, no digit first; a value of {facts.environment_value.range} "
            "characters",
        )


MODEL_FOLDER = "/opt/ml/model"
"""Where SageMaker writes what it downloads from S3 (Developer Guide: custom inference code)."""


def variables(endpoint: EndpointSpec, instance: EndpointInstance) -> Mapping[str, str]:
    """Return the environment variables that set model, accelerators and Neuron settings in the image.

    None for the user's own image, except when the model is on the Hub: no image could find that model without them.
    """
    kind = image_kind(endpoint.image, instance)
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    place = endpoint.model.location if on_hub else MODEL_FOLDER
    neuron = instance.accelerator == "neuron"
    if kind is EndpointImageKind.VLLM:
        values = _vllm_neuron(endpoint, instance, place) if neuron else _vllm(endpoint, instance, place)
    elif kind is EndpointImageKind.TGI:
        values = _tgi_neuron(endpoint, instance, place) if neuron else _tgi(endpoint, instance, place)
    else:
        values = _hugging_face(endpoint)
    return {key: str(value) for key, value in values.items() if value is not None}


def startup_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int:
    """Return the time that a container has until its first successful health check. Default: by the model's size."""
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    return endpoint.startup_timeout_seconds or _bounded(
        load_seconds(
            weights_gib=_weights_gib(endpoint, instance),
            source="hub" if on_hub else "s3",
            compiled=not (on_hub and instance.accelerator == "neuron"),
        )
    )


def download_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Return the time that SageMaker has to download and unpack the model; `None` for a model that is not in S3."""
    if endpoint.model.source is EndpointModelSource.HUB:
        return None
    seconds = load_seconds(weights_gib=_weights_gib(endpoint, instance), source="s3", compiled=True)
    return endpoint.download_timeout_seconds or _bounded(seconds)


def volume_gib(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Return the size of an instance's EBS volume; `None` for an instance type with local disks."""
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
    """A model of unknown size counts as large as the memory that holds it."""
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
        "USAGE_STATS": "off",  # by default the server sends usage statistics to Hugging Face
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
    """Without settings the server uses the number of cores for which the model was exported."""
    if endpoint.neuron is None:
        return None
    facts = neuron_instance(instance.ec2_name)
    return endpoint.neuron.cores or (facts.cores if facts else None)
