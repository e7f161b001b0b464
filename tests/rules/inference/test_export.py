"""Rules of exports, and the choice of their hosts."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.export import check_export, check_export_host, check_export_network, export_instance
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.model_shape import Model, ModelSource
from llm_fleet.spec.service import ExportSpec
from tests.rules.inference.services import a_model, a_server, named, with_

TGI, VLLM = a_server(), a_server(kind=ServerKind.HUGGING_FACE_VLLM)
HUB = a_model("weblab-GENIAC/Tanuki-8B-dpo-v1.0", source=ModelSource.HUB, compiled=False)
RAW = a_model(location="s3://my-models/raw/tanuki-8b", compiled=False)
MODEL = named("tanuki-8b")


@pytest.mark.parametrize("source", [HUB, RAW])
def test_valid_exports(source: Model):
    assert check_export(ExportSpec(source=source), MODEL, TGI) == []
    assert check_export(ExportSpec(source=source, fargate=True), MODEL, VLLM) == []


@pytest.mark.parametrize(
    ("source", "model", "server", "fargate", "path", "message"),
    [
        (MODEL, named("tanuki"), TGI, False, ("export", "source", "compiled"), "not compiled"),
        (
            a_model("/opt/m", source=ModelSource.IMAGE, compiled=False),
            MODEL,
            TGI,
            False,
            ("export", "source", "source"),
            "in the image",
        ),
        (RAW, a_model("a/b", source=ModelSource.HUB), TGI, False, ("model", "hub_id"), "only be written to S3"),
        (RAW, with_(MODEL, compiled=False), TGI, False, ("model", "compiled"), "always compiled"),
        (RAW, with_(MODEL, s3_uri="s3://my-models/raw"), TGI, False, ("model", "s3_uri"), "overlaps with"),
        (RAW, with_(MODEL, s3_uri=f"{RAW.location}/neuron"), TGI, False, ("model", "s3_uri"), "overlaps with"),
        (RAW, MODEL, a_server(kind=ServerKind.AWS_VLLM), False, ("server", "kind"), "cannot export models"),
        (RAW, MODEL, TGI, True, ("server", "kind"), "only on hosts with Neuron devices"),
    ],
)
def test_invalid_exports_are_reported(
    source: Model, model: Model, server: ModelServer, fargate: bool, path: tuple[str, ...], message: str
):
    (problem,) = check_export(ExportSpec(source=source, fargate=fargate), model, server)
    assert (problem.code, problem.path) == (Code.MODEL_EXPORT, path)
    assert message in problem.message


def test_a_model_too_large_for_fargate_is_reported():
    (problem,) = check_export(ExportSpec(source=RAW, fargate=True), named("Llama-2-70b-hf"), VLLM)
    assert (problem.code, problem.path) == (Code.MODEL_EXPORT_MEMORY, ("export", "fargate"))
    assert "273.0 GiB of memory" in problem.message


def test_a_host_that_is_too_small_for_an_export_is_reported():
    (problem,) = check_export_host(MODEL, "inf2.xlarge", server=TGI, cores=2)
    assert problem.code is Code.MODEL_EXPORT_MEMORY
    assert "44.0 GiB of host memory and 2 NeuronCores, and inf2.xlarge has 14.4 GiB" in problem.message
    assert problem.remedy == "use inf2.8xlarge, the smallest that is large enough"
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
def test_the_smallest_host_for_an_export_is_chosen(name: str, cores: int, family: str, instance: str):
    assert export_instance(named(name), server=TGI, cores=cores, family=family) == instance


def test_a_closed_network_cannot_connect_to_the_hub():
    (problem,) = check_export_network(HUB, InternetAccess.NONE)
    assert (problem.code, problem.path) == (Code.CLOSED_NETWORK, ("source", "hub_id"))
    assert check_export_network(RAW, InternetAccess.NONE) == check_export_network(HUB, InternetAccess.NAT) == []
    assert check_export_network(HUB, None) == []
