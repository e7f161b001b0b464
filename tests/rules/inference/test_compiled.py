"""A plain checkpoint for a server that compiles none."""

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.compiled import check_compiled
from llm_fleet.rules.inference.terms import ModelSource, ServerKind
from tests.rules.inference.models import AModel
from tests.rules.inference.servers import AServer

PLAIN = AModel(compiled=False)
VLLM = ServerKind.HUGGING_FACE_VLLM


@pytest.mark.parametrize("source", [ModelSource.S3, ModelSource.IMAGE])
@pytest.mark.parametrize("kind", [ServerKind.TGI, VLLM])
def test_it_is_refused_with_the_export_as_the_way_out(kind: ServerKind, source: ModelSource):
    (problem,) = check_compiled(AServer(kind=kind), AModel(source=source, compiled=False))
    assert (problem.code, problem.path) == (Code.MODEL_NOT_COMPILED, ("compiled",))
    assert "export it first" in problem.remedy
    assert ("allow_non_cached_model" in problem.remedy) is (kind is VLLM)


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (AServer(), AModel()),
        (AServer(), AModel(source=ModelSource.HUB, compiled=False)),
        (AServer(kind=VLLM, settings={"allow_non_cached_model": True}), PLAIN),
        (AServer(kind=ServerKind.AWS_VLLM), PLAIN),
    ],
)
def test_others_pass(server: AServer, model: AModel):
    assert check_compiled(server, model) == []
