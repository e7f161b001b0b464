"""What an endpoint gets where its user wrote nothing: variables, waits, a volume, of what the rules let pass."""

import math
from collections.abc import Mapping

from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_settings
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.service import load_seconds
from llm_fleet.rules.inference.fit import GIB
from llm_fleet.rules.sagemaker.endpoint_image import image_kind
from llm_fleet.rules.sagemaker.endpoint_model import weights_bytes
from llm_fleet.spec.endpoint import EndpointImageKind, EndpointModelSource, EndpointSpec

MODEL_FOLDER = "/opt/ml/model"
"""Where SageMaker lays down what it fetches from S3 (its guide: your own inference code)."""
_FROM_S3, _FROM_HUB = "s3", "hub"
_MIB_OF_GIB = 1024


def variables(endpoint: EndpointSpec, instance: EndpointInstance) -> Mapping[str, str]:
    """Return the variables by which the image is told of model, accelerators and Neuron settings.

    None for an image of the user's own, except where the model is on the Hub: that no image could know else.
    """
    kind = image_kind(endpoint.image, instance)
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    place = endpoint.model.location if on_hub else MODEL_FOLDER
    neuron = instance.accelerator == "neuron"
    if kind is EndpointImageKind.VLLM:
        told = _vllm_neuron(endpoint, instance, place) if neuron else _vllm(endpoint, instance, place)
    elif kind is EndpointImageKind.TGI:
        told = _tgi_neuron(endpoint, instance, place) if neuron else _tgi(endpoint, instance, place)
    else:
        told = _hugging_face(endpoint)
    return {key: str(value) for key, value in told.items() if value is not None}


def startup_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int:
    """Return how long a container may take to its first healthy answer, unless told otherwise."""
    on_hub = endpoint.model.source is EndpointModelSource.HUB
    return endpoint.startup_timeout_seconds or _bounded(
        load_seconds(
            weights_gib=_weights_gib(endpoint, instance),
            source=_FROM_HUB if on_hub else _FROM_S3,
            compiled=not (on_hub and instance.accelerator == "neuron"),
        )
    )


def download_seconds(endpoint: EndpointSpec, instance: EndpointInstance) -> int | None:
    """Return how long SageMaker may take to fetch and unpack the model; `None` for one that is not in S3."""
    if endpoint.model.source is EndpointModelSource.HUB:
        return None
    seconds = load_seconds(weights_gib=_weights_gib(endpoint, instance), source=_FROM_S3, compiled=True)
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
        return instance.accelerators * instance.accelerator_mib / _MIB_OF_GIB
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
