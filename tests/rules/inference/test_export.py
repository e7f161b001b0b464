"""What cannot be exported, and where what can."""

from dataclasses import replace

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.export import check_export, check_export_host, check_export_network, export_instance
from llm_fleet.rules.inference.terms import ModelSource, ServerKind
from llm_fleet.rules.terms import InternetAccess
from tests.rules.inference.models import AModel, named
from tests.rules.inference.servers import AServer

TGI, VLLM = AServer(), AServer(kind=ServerKind.HUGGING_FACE_VLLM)
HUB = AModel(source=ModelSource.HUB, location="weblab-GENIAC/Tanuki-8B-dpo-v1.0", compiled=False)
RAW = AModel(location="s3://my-models/raw/tanuki-8b", compiled=False)
MODEL = named("tanuki-8b")


@pytest.mark.parametrize("source", [HUB, RAW])
def test_what_can_be(source: AModel):
    assert check_export(source, MODEL, TGI, fargate=False) == []
    assert check_export(source, MODEL, VLLM, fargate=True) == []


@pytest.mark.parametrize(
    ("source", "model", "server", "fargate", "path", "message"),
    [
        (MODEL, named("tanuki"), TGI, False, ("source", "compiled"), "exported already"),
        (
            replace(HUB, source=ModelSource.IMAGE, location="/opt/m"),
            MODEL,
            TGI,
            False,
            ("source", "source"),
            "in the image",
        ),
        (RAW, replace(MODEL, source=ModelSource.HUB), TGI, False, ("model", "location"), "only be written to S3"),
        (RAW, replace(MODEL, compiled=False), TGI, False, ("model", "compiled"), "is compiled"),
        (RAW, replace(MODEL, location="s3://my-models/raw"), TGI, False, ("model", "location"), "within the"),
        (RAW, replace(MODEL, location=f"{RAW.location}/neuron"), TGI, False, ("model", "location"), "within the"),
        (RAW, MODEL, AServer(kind=ServerKind.AWS_VLLM), False, ("server", "kind"), "has no command that exports"),
        (RAW, MODEL, TGI, True, ("server", "kind"), "with Neuron devices only"),
    ],
)
def test_what_cannot_be(
    source: AModel, model: AModel, server: AServer, fargate: bool, path: tuple[str, ...], message: str
):
    (problem,) = check_export(source, model, server, fargate=fargate)
    assert (problem.code, problem.path) == (Code.MODEL_EXPORT, path)
    assert message in problem.message


def test_a_model_too_large_for_fargate():
    (problem,) = check_export(RAW, named("Llama-2-70b-hf"), VLLM, fargate=True)
    assert (problem.code, problem.path) == (Code.MODEL_EXPORT_MEMORY, ("fargate",))
    assert "273.0 GiB of memory" in problem.message


def test_a_host_that_serves_and_cannot_export():
    (problem,) = check_export_host(MODEL, "inf2.xlarge", server=TGI, cores=2)
    assert problem.code is Code.MODEL_EXPORT_MEMORY
    assert "44.0 GiB of host memory and 2 NeuronCores, and inf2.xlarge has 14.4 GiB" in problem.message
    assert problem.remedy == "take inf2.8xlarge, the smallest that does"
    assert check_export_host(MODEL, "inf2.8xlarge", server=TGI, cores=2) == []


@pytest.mark.parametrize(
    ("name", "cores", "family", "instance"),
    [
        ("tanuki-8b", 2, "inf2", "inf2.8xlarge"),
        ("tanuki-8b", 2, "trn1", "trn1.32xlarge"),
        ("Llama-2-70b-hf", 24, "inf2", "inf2.48xlarge"),
        ("Llama-2-70b-hf", 12, "inf2", "inf2.24xlarge"),
    ],
)
def test_the_smallest_host_that_exports(name: str, cores: int, family: str, instance: str):
    assert export_instance(named(name), server=TGI, cores=cores, family=family) == instance


def test_the_hub_is_out_of_reach_of_a_closed_network():
    (problem,) = check_export_network(HUB, InternetAccess.NONE)
    assert (problem.code, problem.path) == (Code.CLOSED_NETWORK, ("source", "location"))
    assert check_export_network(RAW, InternetAccess.NONE) == check_export_network(HUB, InternetAccess.NAT) == []
    assert check_export_network(HUB, None) == []
