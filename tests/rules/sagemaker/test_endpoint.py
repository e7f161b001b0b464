"""Rules of endpoints, with their remedies."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.endpoint import EndpointImage, EndpointImageKind, EndpointModel, NeuronSettings
from tests.rules.sagemaker.endpoints import FILES, INF2, OWN, TARBALL, only, problems

TUTORIAL = "s3://huggingface-sagemaker-models/transformers/4.12.3/pytorch/1.9.1/gpt-j/model.tar.gz"
GPU_2 = "al2-ami-sagemaker-inference-gpu-2"
NEURON_AMI = "al2-ami-sagemaker-inference-neuron-2"
TOKEN = "${Token[TOKEN.1]}"
BIG = EndpointModel(hub_id="owner/huge", parameters=70_000_000_000)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": FILES},
        {"model": TARBALL},
        {"model": EndpointModel(hub_id="EleutherAI/gpt-j-6b", revision="float16")},
        {"instance_type": INF2},
        {"instance_type": INF2, "neuron": NeuronSettings(cores=2, batch_size=4), "volume_gib": 200},
        {"instance_type": "ml.m7i.xlarge", "model": EndpointModel(hub_id="a/b", task="text-classification")},
        {"image": EndpointImage(kind=EndpointImageKind.TGI)},
        {"image": EndpointImage(uri=OWN, cuda="12.4")},
        {"image": EndpointImage(uri=OWN), "instance_type": "ml.c7g.large", "model": EndpointModel(hub_id="a/b")},
        {"environment": {"SM_VLLM_MAX_MODEL_LEN": "2048"}},
        {"instance_type": "ml.g5.12xlarge", "model": EndpointModel(hub_id="a/b", parameters=40_000_000_000)},
        {"model": TARBALL, "image": EndpointImage(kind=EndpointImageKind.HUGGING_FACE, version="4.51.3")},
    ],
)
def test_valid_endpoints_have_no_problems(changes: dict[str, Any]) -> None:
    assert problems(**changes) == []


@pytest.mark.parametrize(
    ("changes", "code", "where", "words"),
    [
        ({"name": "gpt_j"}, "LF900", "name", "gpt-j"),
        ({"name": "n" * 64}, "LF900", "name", "63"),
        ({"instance_type": "g4dn.xlarge"}, "LF902", "instance_type", "ml.g4dn.xlarge"),
        ({"instance_type": "ml.g5.3xlarge"}, "LF902", "instance_type", "ml.g5."),
        ({"instance_type": "ml.p3.2xlarge"}, "LF901", "instance_type", "ml.g5.xlarge"),
        ({"instance_type": "ml.p2.xlarge"}, "LF901", "instance_type", "ml.g4dn.xlarge"),
        ({"instance_type": TOKEN}, "LF902", "instance_type", "context"),
        (
            {"model": EndpointModel(hub_id="https://huggingface.co/EleutherAI/gpt-j-6b")},
            "LF930",
            "model.hub_id",
            "`EleutherAI/gpt-j-6b`",
        ),
        ({"model": EndpointModel(hub_id="gpt-j")}, "LF930", "model.hub_id", "owner/name"),
        ({"model": EndpointModel(s3_uri=TARBALL.tarball_uri)}, "LF930", "model.s3_uri", "tarball"),
        ({"model": EndpointModel(tarball_uri="s3://my-models/model.zip")}, "LF930", "model.tarball_uri", "tar -czf"),
        ({"model": EndpointModel(s3_uri="s3://My_Models/x")}, "LF930", "model.s3_uri", "s3://bucket/prefix/"),
        ({"model": EndpointModel(s3_uri="s3://m0del/x", revision="main")}, "LF930", "model.revision", "remove"),
        ({"model": EndpointModel(hub_id="a/b", parameters=0)}, "LF937", "model.parameters", "6_050_000_000"),
        (
            {"model": EndpointModel(tarball_uri=TUTORIAL)},
            "LF932",
            "model.tarball_uri",
            "EleutherAI/gpt-j-6b at the revision float16",
        ),
        (
            {"image": EndpointImage(kind=EndpointImageKind.HUGGING_FACE, version="4.12.3")},
            "LF934",
            "image.version",
            "5.5.3",
        ),
        (
            {
                "image": EndpointImage(
                    uri="763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-pytorch-inference:"
                    "1.9.1-transformers4.12.3-gpu-py38-cu111-ubuntu20.04"
                )
            },
            "LF934",
            "image.uri",
            "5.5.3",
        ),
        ({"image": EndpointImage(uri=OWN, version="1")}, "LF117", "image.version", "remove"),
        ({"image": EndpointImage(uri=OWN, kind=EndpointImageKind.VLLM)}, "LF117", "image.kind", "remove"),
        ({"image": EndpointImage(cuda="12.4")}, "LF117", "image.cuda", "your own image"),
        ({"image": EndpointImage(version="9.9")}, "LF933", "image.version", "newest"),
        (
            {"instance_type": "ml.m7i.xlarge", "image": EndpointImage(kind=EndpointImageKind.VLLM), "model": FILES},
            "LF933",
            "image",
            "hugging-face",
        ),
        ({"instance_type": "ml.c7g.4xlarge", "model": EndpointModel(hub_id="a/b")}, "LF933", "instance_type", "x86"),
        ({"instance_type": "ml.trn2.48xlarge", "model": FILES}, "LF933", "instance_type", "your own image"),
        ({"instance_type": "ml.dl1.24xlarge"}, "LF933", "image", "another instance type"),
        ({"region": None}, "LF935", "image", "env"),
        ({"region": "eu-north-1", "instance_type": INF2}, "LF935", "image", "ECR"),
        ({"image": EndpointImage(uri="docker.io/vllm/vllm-openai:v0.27.1")}, "LF935", "image.uri", "imagetools"),
        ({"image": EndpointImage(uri=OWN.replace("us-west-2", "eu-west-1"))}, "LF935", "image.uri", "copy it"),
        ({"model": EndpointModel(hub_id="a/b", task="text-classification")}, "LF930", "model.task", "hugging-face"),
        ({"inference_ami": GPU_2}, "LF936", "inference_ami", "remove"),
        ({"inference_ami": NEURON_AMI}, "LF936", "inference_ami", "this family"),
        ({"inference_ami": "ami-1"}, "LF936", "inference_ami", "remove"),
        ({"image": EndpointImage(uri=OWN, cuda="cu124")}, "LF936", "image.cuda", "cu130"),
        ({"model": BIG}, "LF938", "instance_type", "larger"),
        ({"volume_gib": 100}, "LF939", "volume_gib", "without local disks"),
        ({"instance_type": INF2, "volume_gib": 513}, "LF937", "volume_gib", "512"),
        ({"instance_count": 0}, "LF937", "instance_count", "1"),
        ({"startup_timeout_seconds": 7200}, "LF937", "startup_timeout_seconds", "3600"),
        ({"download_timeout_seconds": 600}, "LF937", "download_timeout_seconds", "startup_timeout_seconds"),
        ({"neuron": NeuronSettings()}, "LF940", "neuron", "ml.inf2.xlarge"),
        ({"instance_type": INF2, "neuron": NeuronSettings(cores=3)}, "LF940", "neuron.cores", "all cores"),
        ({"instance_type": INF2, "neuron": NeuronSettings(batch_size=0)}, "LF940", "neuron.batch_size", "1"),
        (
            {"instance_type": INF2, "neuron": NeuronSettings(), "image": EndpointImage(uri=OWN)},
            "LF940",
            "neuron",
            "environment",
        ),
        ({"network_isolation": True}, "LF941", "network_isolation", "s3://"),
        ({"environment": {"HF_TOKEN": "hf_secret"}}, "LF931", "environment.HF_TOKEN", "s3://"),
        ({"environment": {"SM_VLLM_MODEL": "a/b"}}, "LF942", "environment.SM_VLLM_MODEL", "remove"),
        ({"environment": {"SAGEMAKER_REGION": "x"}}, "LF942", "environment.SAGEMAKER_REGION", "remove"),
        ({"environment": {"1X": "x"}}, "LF942", "environment.1X", "text"),
        ({"environment": {f"X{n}": "x" for n in range(100)}}, "LF942", "environment", "file"),
    ],
)
def test_a_mistake_is_reported_with_its_remedy(changes: dict[str, Any], code: str, where: str, words: str) -> None:
    problem = only(**changes)
    assert (problem.code, problem.where) == (code, where)
    assert words in f"{problem.allowed} {problem.remedy}"


def test_a_model_has_exactly_one_location() -> None:
    nowhere, twice = only(model=EndpointModel()), only(model=EndpointModel(hub_id="a/b", s3_uri="s3://my-models/x/"))
    assert (nowhere.code, nowhere.path, "from_hub" in nowhere.remedy) == (Code.MISSING_KEY, ("model",), True)
    assert (twice.code, twice.path) == (Code.CONTRADICTION, ("model", "s3_uri"))


def test_a_secret_is_not_repeated() -> None:
    assert "hf_secret" not in str(only(environment={"HF_TOKEN": "hf_secret"}))


def test_all_problems_are_reported_together() -> None:
    reported = problems(
        instance_type="ml.p3.2xlarge", name="gpt_j", model=EndpointModel(hub_id="gpt-j"), environment={"HF_TOKEN": "x"}
    )
    assert {problem.path[0] for problem in reported} == {"instance_type", "name", "model", "environment"}


def test_a_closed_network_cannot_connect_to_the_hub() -> None:
    (reported,) = problems(InternetAccess.NONE, in_network=True)
    assert (reported.code, reported.path) == (Code.CLOSED_NETWORK, ("model", "hub_id"))
    assert problems(InternetAccess.NONE, in_network=True, model=FILES) == []
    assert problems(InternetAccess.NONE, in_network=False) == []
    assert problems(None, in_network=True) == []


def test_a_custom_image_can_load_the_archive_of_the_tutorial() -> None:
    archive = EndpointModel(tarball_uri=TUTORIAL)
    assert problems(model=archive, image=EndpointImage(uri=OWN)) == []


def test_only_the_first_gpu_counts_for_transformers_pipelines() -> None:
    model = EndpointModel(hub_id="a/b", parameters=15_000_000_000)  # 27.9 GiB: two of four GPUs of 22.4 GiB
    assert problems(instance_type="ml.g5.12xlarge", model=model) == []
    (reported,) = problems(
        instance_type="ml.g5.12xlarge", model=model, image=EndpointImage(kind=EndpointImageKind.HUGGING_FACE)
    )
    assert reported.code == SageMakerCode.ENDPOINT_FIT
    assert reported.allowed.split(", ")[0] == "ml.g6e.xlarge"


def test_gpt_j_fits_the_gpu_of_the_tutorial_and_a_larger_model_does_not() -> None:
    assert problems(model=EndpointModel(hub_id="EleutherAI/gpt-j-6b")) == []
    reported = only(model=EndpointModel(hub_id="a/b", parameters=8_000_000_000))
    assert reported.code == SageMakerCode.ENDPOINT_FIT
    assert reported.allowed.startswith("ml.g4dn.12xlarge, ml.g5.xlarge")
