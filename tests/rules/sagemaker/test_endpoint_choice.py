"""Defaults of an endpoint."""

from typing import Any

import pytest

from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_instance
from llm_fleet.rules.sagemaker.endpoint import download_seconds, startup_seconds, variables, volume_gib
from llm_fleet.rules.sagemaker.endpoint_image import ami_for
from llm_fleet.spec.endpoint import EndpointImage, EndpointImageKind, EndpointModel, NeuronSettings
from tests.rules.sagemaker.endpoints import FILES, INF2, OWN, endpoint

VLLM, TGI, PIPELINES = EndpointImageKind.VLLM, EndpointImageKind.TGI, EndpointImageKind.HUGGING_FACE
GPU_3, GPU_4 = "al2-ami-sagemaker-inference-gpu-3-1", "al2023-ami-sagemaker-inference-gpu-4-1"
GPT_J = "EleutherAI/gpt-j-6b"


def instance(name: str) -> EndpointInstance:
    facts = endpoint_instance(name)
    assert facts is not None
    return facts


@pytest.mark.parametrize(
    ("name", "image", "expected"),
    [
        ("ml.g4dn.xlarge", EndpointImage(), GPU_4),  # CUDA 13.0
        ("ml.g4dn.xlarge", EndpointImage(kind=TGI), GPU_3),  # CUDA 12.4
        ("ml.g4dn.xlarge", EndpointImage(kind=VLLM, version="0.17.0"), GPU_4),  # CUDA 12.9
        ("ml.p5.48xlarge", EndpointImage(uri=OWN, cuda="12.1"), None),  # the default driver of p5 supports 12.2
        ("ml.g4dn.xlarge", EndpointImage(uri=OWN, cuda="11.1"), None),
        ("ml.g4dn.xlarge", EndpointImage(uri=OWN, cuda="12.1"), "al2-ami-sagemaker-inference-gpu-2"),
        ("ml.g7e.2xlarge", EndpointImage(kind=TGI), GPU_4),  # no earlier driver supports Blackwell
        ("ml.g4dn.xlarge", EndpointImage(uri=OWN), None),
        (INF2, EndpointImage(), None),
        ("ml.m7i.xlarge", EndpointImage(), None),
    ],
)
def test_the_oldest_driver_that_supports_the_cuda_version_of_the_image_is_chosen(
    name: str, image: EndpointImage, expected: str | None
) -> None:
    chosen = ami_for(image, instance(name))
    assert (chosen.name if chosen else None) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"model": EndpointModel(hub_id=GPT_J, revision="float16")},
            {
                "SM_VLLM_MODEL": "EleutherAI/gpt-j-6b",
                "SM_VLLM_REVISION": "float16",
                "SM_VLLM_TENSOR_PARALLEL_SIZE": "1",
            },
        ),
        (
            {"model": FILES, "instance_type": "ml.g5.12xlarge"},
            {"SM_VLLM_MODEL": "/opt/ml/model", "SM_VLLM_TENSOR_PARALLEL_SIZE": "4"},
        ),
        (
            {"image": EndpointImage(kind=TGI), "instance_type": "ml.g5.12xlarge"},
            {"HF_MODEL_ID": "EleutherAI/gpt-j-6b", "SM_NUM_GPUS": "4", "USAGE_STATS": "off"},
        ),
        (
            {
                "image": EndpointImage(kind=PIPELINES),
                "model": EndpointModel(hub_id=GPT_J, task="text-generation"),
            },
            {"HF_MODEL_ID": "EleutherAI/gpt-j-6b", "HF_TASK": "text-generation"},
        ),
        ({"image": EndpointImage(kind=PIPELINES), "model": FILES}, {}),
        ({"image": EndpointImage(uri=OWN), "model": FILES}, {}),
        ({"image": EndpointImage(uri=OWN)}, {"HF_MODEL_ID": "EleutherAI/gpt-j-6b"}),
        ({"instance_type": INF2, "model": FILES}, {"SM_ON_MODEL": "/opt/ml/model"}),
        (
            {"instance_type": "ml.inf2.24xlarge", "neuron": NeuronSettings(batch_size=4, sequence_length=4096)},
            {
                "SM_ON_MODEL": "EleutherAI/gpt-j-6b",
                "SM_ON_TENSOR_PARALLEL_SIZE": "12",
                "SM_ON_BATCH_SIZE": "4",
                "SM_ON_SEQUENCE_LENGTH": "4096",
            },
        ),
        (
            {
                "instance_type": INF2,
                "neuron": NeuronSettings(cores=2),
                "image": EndpointImage(kind=TGI),
                "model": FILES,
            },
            {
                "HF_MODEL_ID": "/opt/ml/model",
                "HF_NUM_CORES": "2",
                "HF_AUTO_CAST_TYPE": "bf16",
                "MAX_BATCH_SIZE": "1",
                "MAX_TOTAL_TOKENS": "2048",
                "USAGE_STATS": "off",
            },
        ),
    ],
)
def test_settings_are_passed_in_the_variables_of_the_image(changes: dict[str, Any], expected: dict[str, str]) -> None:
    changed = endpoint(**changes)
    assert variables(changed, instance(changed.instance_type)) == expected


def test_timeouts_depend_on_the_model_size_within_the_limits_of_the_service() -> None:
    small, large = (
        endpoint(model=EndpointModel(hub_id="a/b", parameters=count)) for count in (1_000_000, 70_000_000_000)
    )
    gpu = instance("ml.p4d.24xlarge")
    assert 60 <= startup_seconds(small, gpu) < startup_seconds(large, gpu) <= 3600
    assert startup_seconds(endpoint(startup_timeout_seconds=700), gpu) == 700
    assert download_seconds(small, gpu) is None  # on the Hub: the container downloads it
    assert 60 <= (download_seconds(endpoint(model=FILES), gpu) or 0) <= 3600


def test_a_model_of_unknown_size_counts_as_the_memory_of_the_instance() -> None:
    unknown = endpoint(model=EndpointModel(hub_id="a/b"))
    assert startup_seconds(unknown, instance("ml.g4dn.xlarge")) < startup_seconds(unknown, instance("ml.g5.48xlarge"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"instance_type": "ml.g4dn.xlarge"}, None),
        ({"instance_type": INF2, "model": EndpointModel(hub_id="a/b")}, 64),
        ({"instance_type": INF2, "volume_gib": 100}, 100),
        ({"instance_type": "ml.inf2.48xlarge", "model": EndpointModel(hub_id="a/b", parameters=70_000_000_000)}, 291),
    ],
)
def test_only_an_instance_without_disks_has_a_volume(changes: dict[str, Any], expected: int | None) -> None:
    changed = endpoint(**changes)
    assert volume_gib(changed, instance(changed.instance_type)) == expected
