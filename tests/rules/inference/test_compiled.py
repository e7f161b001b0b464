"""A plain checkpoint for a server that compiles none."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_compiled
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.served_model import Model, ModelSource
from tests.rules.inference.services import a_model, a_server

PLAIN = a_model(compiled=False)
VLLM = ServerKind.HUGGING_FACE_VLLM


@pytest.mark.parametrize("source", [ModelSource.S3, ModelSource.IMAGE])
@pytest.mark.parametrize("kind", [ServerKind.TGI, VLLM])
def test_it_is_refused_with_the_export_as_the_way_out(kind: ServerKind, source: ModelSource):
    (problem,) = check_compiled(a_server(kind=kind), a_model("x/y", source=source, compiled=False))
    assert (problem.code, problem.path) == (Code.MODEL_NOT_COMPILED, ("compiled",))
    assert "export it first" in problem.remedy
    assert ("allow_non_cached_model" in problem.remedy) is (kind is VLLM)


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (a_server(), a_model()),
        (a_server(), a_model("x/y", source=ModelSource.HUB, compiled=False)),
        (a_server(kind=VLLM, settings={"allow_non_cached_model": True}), PLAIN),
        (a_server(kind=ServerKind.AWS_VLLM), PLAIN),
    ],
)
def test_others_pass(server: ModelServer, model: Model):
    assert check_compiled(server, model) == []
