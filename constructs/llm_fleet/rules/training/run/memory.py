"""How much memory a process of a run takes: an estimate, in bytes. docs/training/fitting.md has the formulas."""

from dataclasses import dataclass

from llm_fleet.catalog.model_shapes import training_memory
from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.training.run.plan import RunPlan
from llm_fleet.rules.training.run.protocols import TrainedShapeLike
from llm_fleet.rules.training.run.terms import ActivationCheckpointing, Backend, Precision

_16_BIT = 2
_WIDTHS = {Precision.MIXED: 1, Precision.FLOAT32: 2}
"""How much wider activations are than the 16 bits that their coefficients are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """What the fullest process of a run keeps, in bytes."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    """The last layer's output, by the size of the vocabulary, and its gradient."""
    usable: float
    """What a run may fill."""
    whole: float
    """The memory of the process's accelerator, or on processors of the node."""

    @property
    def total(self) -> float:
        """All of it together."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits

    @property
    def fits(self) -> bool:
        """Whether it finds room."""
        return self.total <= self.usable


def estimate(plan: RunPlan, shape: TrainedShapeLike | None) -> MemoryEstimate | None:
    """Return what the fullest process of `plan` keeps of a model of `shape`.

    `None` where nobody told how large the model is, or the catalog does not know the accelerator's memory.
    """
    whole = plan.accelerator.bytes
    if shape is None or whole is None:
        return None
    facts = training_memory()
    state = facts.state[plan.precision]
    own = _parameters(plan, shape)
    weights, gradients, optimizer = own * state.weights, own * state.gradients, own * state.optimizer
    if _shards_all(plan):
        # FSDP keeps fp32 weights sharded (they are the optimizer's), and holds few layers whole at a time.
        weights = _gathered(plan, shape) * state.weights
        gradients, optimizer = gradients / plan.shard_degree, optimizer / plan.shard_degree
        if plan.precision is Precision.FLOAT32:
            weights += own * state.weights / plan.shard_degree
    else:
        optimizer /= plan.data_parallel if plan.accelerator.kind == "neuron" else 1
    return MemoryEstimate(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=_activations(plan, shape),
        logits=_logits(plan, shape),
        usable=whole * facts.usable_share[plan.accelerator.kind],
        whole=float(whole),
    )


def _shards_all(plan: RunPlan) -> bool:
    return plan.backend in (Backend.FSDP, Backend.SMP)


def _layer_parameters(shape: TrainedShapeLike) -> float:
    return (shape.parameters - _embeddings(shape)) / shape.layers


def _embeddings(shape: TrainedShapeLike) -> int:
    """Return the weights of embedding and head, which count once where they are tied."""
    once = shape.vocabulary * shape.hidden
    return min(2 * once, _tied(shape, once))


def _tied(shape: TrainedShapeLike, once: int) -> int:
    """A model whose layers, counted from its widths, leave room for one table only has one."""
    attention = 2 * shape.hidden * shape.head_dim * (shape.attention_heads + shape.kv_heads)
    layers = shape.layers * (attention + 3 * shape.hidden * shape.intermediate)
    return once if shape.parameters - layers < 1.5 * once else 2 * once


def _parameters(plan: RunPlan, shape: TrainedShapeLike) -> float:
    """Return the weights of the fullest process: of a pipeline, its first or last stage, which has one table more."""
    tables = _embeddings(shape)
    if plan.pipeline_parallel > 1:
        tables = min(tables, shape.vocabulary * shape.hidden)
    layers = shape.layers / plan.pipeline_parallel
    return (layers * _layer_parameters(shape) + tables) / plan.tensor_parallel


def _gathered(plan: RunPlan, shape: TrainedShapeLike) -> float:
    """Return the weights that are whole at once: some layers, or the largest table."""
    layers = training_memory().gathered_layers * _layer_parameters(shape)
    return max(layers, shape.vocabulary * shape.hidden) / plan.tensor_parallel


def _activations(plan: RunPlan, shape: TrainedShapeLike) -> float:
    facts = training_memory().activation
    tokens = plan.micro_batch * plan.sequence_length / plan.context_parallel
    kept = facts.input * shape.hidden * tokens / _sequence_split(plan)
    layer = _layer_activations(plan, shape, tokens, scores=_keeps_scores(plan))
    # Of a pipeline, the first stage has as many micro batches under way as there are stages: all layers' worth.
    if plan.activation_checkpointing is ActivationCheckpointing.FULL:
        return (shape.layers * kept + layer) * _WIDTHS[plan.precision]
    if plan.activation_checkpointing is ActivationCheckpointing.SELECTIVE:
        once = layer - _layer_activations(plan, shape, tokens, scores=False)
        return (shape.layers * (layer - once) + once) * _WIDTHS[plan.precision]
    return shape.layers * layer * _WIDTHS[plan.precision]


def _layer_activations(plan: RunPlan, shape: TrainedShapeLike, tokens: float, *, scores: bool) -> float:
    facts = training_memory().activation
    wide = (facts.layer * shape.hidden / _sequence_split(plan)) * tokens
    inner = facts.inner_gated * shape.intermediate * tokens / plan.tensor_parallel
    squares = facts.scores * shape.attention_heads * tokens * plan.sequence_length / plan.tensor_parallel
    return wide + inner + (squares if scores else 0)


def _sequence_split(plan: RunPlan) -> int:
    """Return over how many processes what lies outside of attention and feed-forward is split."""
    return plan.tensor_parallel if backends()[plan.backend].sequence_parallel else 1


def _keeps_scores(plan: RunPlan) -> bool:
    return backends()[plan.backend].keeps_scores


def _logits(plan: RunPlan, shape: TrainedShapeLike) -> float:
    tokens = plan.micro_batch * plan.sequence_length / plan.context_parallel
    return training_memory().logits_bytes * tokens * shape.vocabulary / plan.tensor_parallel
