"""The configuration of the SageMaker model parallel library v2 (SMP): each key, and how they go together.

Beside the reference (`distributed-model-parallel-v2-reference`), what the guide's pages on context and expert
parallelism say, and what AWS's own HyperPod adapter for NeMo checks before it starts the library
(sagemaker-hyperpod-training-adapter-for-nemo, `validate_distributed_degrees`).

How the degrees of SMP v2 go together, with each other and with the number of processes.

`known` are the values of an SMP configuration by key, those left out being `None`, and those that are wrong by
themselves or known only at deploy time not in it: what depends on them is passed over.
"""

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any

from llm_fleet.catalog.training_job import SmpKey, smp_aliases, smp_keys
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import check_number
from llm_fleet.spec.smp import SmpConfiguration

_SHARD = "hybrid_shard_degree"
_TENSOR = "tensor_parallel_degree"
_CONTEXT = "context_parallel_degree"
_EXPERT = "expert_parallel_degree"


def check_degrees(known: Mapping[str, Any], *, world_size: int | None, experts: int | None) -> list[Problem]:
    """Return which degrees exclude each other, or cannot divide `world_size` processes or `experts` experts."""
    degrees = {
        name: int(smp_keys()[name].default or 0) if known[name] is None else int(known[name])
        for name in (_SHARD, _TENSOR, _CONTEXT, _EXPERT)
        if name in known
    }
    context = _check_context(degrees)
    return [
        *context,
        *_check_experts(degrees, experts),
        *_check_world(degrees, world_size, context_is_wrong=bool(context)),
    ]


@rule
def _check_context(degrees: Mapping[str, int]) -> Iterator[Problem]:
    """The context degree is at most the shard degree, and divides it: a sequence's parts lie in one shard group.

    The reference says the first, and 0, the shard degree's default, is no exception in it or in AWS's own adapter.
    """
    context, shard = degrees.get(_CONTEXT, 1), degrees.get(_SHARD)
    if context == 1 or shard is None or (shard >= context and shard % context == 0):
        return
    if shard < context:
        message = f"the context degree is above the shard degree, which is {shard}"
    else:
        message = f"a shard group of {shard} processes cannot be divided into contexts of {context}"
    nearest = context * max(1, round(shard / context))
    yield Problem(
        code=Code.SMP_CONTEXT,
        message=message,
        remedy=f"write {_SHARD}: {nearest}"
        + (f", or a context degree that divides {shard}" if shard > 1 else ", or leave the context degree out"),
        path=(_CONTEXT,),
        value=context,
        allowed=f"a divisor of {_SHARD}",
    )


def _check_experts(degrees: Mapping[str, int], experts: int | None) -> Iterator[Problem]:
    degree = degrees.get(_EXPERT, 1)
    if degree == 1:
        return
    if degrees.get(_TENSOR, 1) > 1:
        yield _expert("expert and tensor parallelism do not go together in SMP v2", "write 1 for either", degree)
    elif experts == 0:
        yield _expert("the model has no experts that could be spread", f"leave {_EXPERT} out", degree)
    elif experts and experts % degree:
        yield _expert(
            f"{experts} experts cannot be spread evenly over {degree}", f"write {gcd(experts, degree)}", degree
        )


def _expert(message: str, remedy: str, degree: int) -> Problem:
    return Problem(code=Code.SMP_EXPERTS, message=message, remedy=remedy, path=(_EXPERT,), value=degree)


def _check_world(degrees: Mapping[str, int], world_size: int | None, *, context_is_wrong: bool) -> list[Problem]:
    if world_size is None or world_size < 1:
        return []
    single = [_uneven(name, value, world_size) for name, value in degrees.items() if value and world_size % value]
    if single:
        return single
    factors = {name: degrees.get(name, 1) or 1 for name in (_SHARD, _TENSOR, _EXPERT)}
    product = factors[_SHARD] * factors[_TENSOR] * factors[_EXPERT]
    if context_is_wrong or world_size % product == 0:
        return []
    rest = world_size // (factors[_TENSOR] * factors[_EXPERT])
    reported = " x ".join(f"{name} {value}" for name, value in factors.items() if value > 1)
    return [
        Problem(
            code=Code.SMP_WORLD_SIZE,
            message=f"{reported} is {product}, and {world_size} processes cannot be divided into groups of that",
            remedy=f"write {_SHARD}: {gcd(factors[_SHARD], rest)}, or take nodes for a multiple of {product} processes"
            if rest
            else f"take nodes for a multiple of {product} processes",
            path=(_SHARD,),
            value=factors[_SHARD],
            allowed=f"a divisor of {rest}" if rest else "",
        )
    ]


def _uneven(name: str, degree: int, world_size: int) -> Problem:
    return Problem(
        code=Code.SMP_WORLD_SIZE,
        message=f"{world_size} processes cannot be divided into groups of {degree}",
        remedy=f"write {gcd(world_size, degree)}, or take nodes for a multiple of {degree} processes",
        path=(name,),
        value=degree,
        allowed=f"a divisor of {world_size}",
    )


def check_smp(
    smp: SmpConfiguration,
    *,
    world_size: int | None = None,
    activation_checkpointing: bool | None = None,
    experts: int | None = None,
) -> list[Problem]:
    """Return all that is wrong with `smp` for a job of `world_size` processes, one a GPU; `None`: not known.

    `activation_checkpointing` is whether the job recomputes activations, `experts` how many experts a layer of its
    model has, 0 for a model without; what depends on either is passed over where it is `None`.
    """
    values = {name: getattr(smp, name) for name in smp_keys()}
    return [
        *check_smp_seeds(smp),
        *check_smp_values(
            values, world_size=world_size, activation_checkpointing=activation_checkpointing, experts=experts
        ),
    ]


def check_smp_values(
    values: Mapping[str, Any],
    *,
    world_size: int | None = None,
    activation_checkpointing: bool | None = None,
    experts: int | None = None,
) -> list[Problem]:
    """Return the same of `values`, all keys of SMP with `None` for those left out, wherever they are from."""
    alone = [problem for name, value in values.items() for problem in _check_value(smp_keys()[name], value, world_size)]
    wrong = {problem.path[0] for problem in alone}
    known = {name: value for name, value in values.items() if name not in wrong and not is_unresolved(value)}
    return [
        *alone,
        *check_degrees(known, world_size=world_size, experts=experts),
        *_check_offloading(known, activation_checkpointing),
    ]


def smp_remarks(smp: SmpConfiguration) -> list[str]:
    """Return what a user should know of `smp` though nothing is wrong with it, a sentence each."""
    remarks = [
        f"{name} above 1 only acts on a model that the script passes through torch.sagemaker.transform; "
        "llm-fleet's training program does"
        for name, key in smp_keys().items()
        if key.needs_transform and _above_one(getattr(smp, name))
    ]
    for old, new in smp_aliases().items():
        if getattr(smp, old) is not None:
            remarks.append(f"{old} is what the library's announcement wrote; its reference has {new}, which is written")
    return remarks


def _above_one(value: Any) -> bool:
    return type(value) is int and not is_unresolved(value) and value > 1


def _check_value(key: SmpKey, value: Any, world_size: int | None) -> list[Problem]:
    if value is None or is_unresolved(value):
        return []
    if key.type == "integer":
        what = f"the {key.name.replace('_', ' ')}"
        return check_number(value, key.limit(world_size), Code.SMP_VALUE, key.name, what=what)
    if isinstance(value, bool):
        return []
    return [
        Problem(
            code=Code.SMP_VALUE,
            message="this is neither true nor false",
            remedy=f"write true or false; left out, it is {str(key.default).lower()}",
            path=(key.name,),
            value=value,
            allowed="true, false",
        )
    ]


def check_smp_seeds(smp: SmpConfiguration) -> list[Problem]:
    """Return what is wrong with the seed's old name."""
    old = smp.tensor_parallel_seed
    if old is None or is_unresolved(old):
        return []
    key = smp_keys()["random_seed"]
    problems = check_number(old, key.limit(None), Code.SMP_VALUE, "tensor_parallel_seed", what="the seed")
    if not problems and smp.random_seed is not None:
        problems.append(
            smp.wrong(
                "tensor_parallel_seed",
                Code.SMP_SEED_TWICE,
                "the seed is told twice: tensor_parallel_seed is the old name of random_seed",
                "leave tensor_parallel_seed out",
            )
        )
    return problems


def _check_offloading(known: Mapping[str, Any], activation_checkpointing: bool | None) -> Iterator[Problem]:
    if activation_checkpointing is False and known.get("sm_activation_offloading") is True:
        yield Problem(
            code=Code.SMP_OFFLOADING,
            message="the library offloads the activations of checkpointed layers, and this job checkpoints none",
            remedy="turn activation checkpointing on, or leave sm_activation_offloading out",
            path=("sm_activation_offloading",),
            value=True,
        )
