"""Whether a server can serve a model that was not exported for Neuron."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import ModelLike, ServerLike
from llm_fleet.rules.inference.terms import ModelSource, ServerKind
from llm_fleet.rules.problem import Problem


def check_compiled(server: ServerLike, model: ModelLike) -> list[Problem]:
    """Return a problem when `model` is a plain checkpoint and `server` compiles none; paths are those of the model.

    TGI looks for compiled code in the Hub's public cache and ends when there is none (`fetch_model` in
    text-generation-inference's backends/neuron/server/text_generation_server/model.py), and so does Hugging Face's vLLM
    unless it is told otherwise (optimum-neuron's vllm/model_loader.py). Of a model that is not on the Hub there is
    none. For one on the Hub nobody can tell at synth; AWS's images compile what they do not find.
    """
    if model.compiled or model.source is ModelSource.HUB or not _needs_the_cache(server):
        return []
    vllm = server.kind is ServerKind.HUGGING_FACE_VLLM
    allow = ", or let the server compile it at each start: allow_non_cached_model=True" if vllm else ""
    return [
        Problem(
            code=Code.MODEL_NOT_COMPILED,
            message=f"{server.kind} compiles no model, and this one is not exported for Neuron",
            remedy=f"export it first with ModelExport, and leave `compiled` out{allow}",
            path=("compiled",),
            value=False,
        )
    ]


def _needs_the_cache(server: ServerLike) -> bool:
    if server.kind is ServerKind.HUGGING_FACE_VLLM:
        return not server.settings.get("allow_non_cached_model")
    return server.kind is ServerKind.TGI
