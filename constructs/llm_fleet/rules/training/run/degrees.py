"""Over how many processes a model can be spread."""

from math import isqrt

from llm_fleet.catalog.training_environments import backends
from llm_fleet.rules.training.run.plan import RunPlan
from llm_fleet.rules.training.run.protocols import TrainedShapeLike


def possible_tensor_parallel(plan: RunPlan, shape: TrainedShapeLike | None) -> tuple[int, ...]:
    """Return the tensor parallel degrees that nodes and model of `plan` can have, ascending."""
    return tuple(degree for degree in degrees_of_cores(plan) if shape is None or not undivided(shape, degree))


def degrees_of_cores(plan: RunPlan) -> tuple[int, ...]:
    """Return the tensor parallel degrees that the processes of `plan` can have, whatever the model."""
    if plan.accelerator.kind == "neuron" and plan.accelerator.tensor_parallel:
        return plan.accelerator.tensor_parallel
    within = backends()[plan.backend].tensor_parallel_within_node
    return tuple(divisors(plan.accelerator.processes if within else plan.world))


def undivided(shape: TrainedShapeLike, degree: int) -> list[tuple[str, int]]:
    """Return what of the model `degree` does not divide, in words, with how many there are.

    Heads of keys and values may be fewer than processes: then each is copied, as often as the degree has them.
    """
    counted = [
        ("attention heads", shape.attention_heads),
        ("numbers of the feed-forward block (intermediate)", shape.intermediate),
        ("tokens of the vocabulary", shape.vocabulary),
    ]
    found = [(what, count) for what, count in counted if count % degree]
    kv_heads = shape.kv_heads
    if kv_heads % degree and degree % kv_heads:
        found.append(("heads of keys and values", kv_heads))
    return found


def divisors(number: int) -> list[int]:
    """Return what divides `number`, ascending."""
    small = [each for each in range(1, isqrt(number) + 1) if number % each == 0]
    large = [number // each for each in reversed(small)]
    return [*small, *(each for each in large if each > small[-1])]


def context_parts(plan: RunPlan) -> int:
    """Return into how many equal parts context parallel cuts a sequence.

    Each process takes one of the front and one of the back, so that all have as much attention to do.
    """
    return 2 * plan.context_parallel if plan.context_parallel > 1 else 1
