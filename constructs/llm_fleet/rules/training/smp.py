"""Rules of the configuration of the SageMaker model parallel library v2 (SMP): each key, and their combinations.

Sources: the reference (`distributed-model-parallel-v2-reference`), the guide's pages on context and expert
parallelism, and the checks of AWS's own HyperPod adapter for NeMo before it starts the library
(sagemaker-hyperpod-training-adapter-for-nemo, `validate_distributed_degrees`).

Also the combination of the degrees of SMP v2 with each other and with the number of processes.

`known` are the values of an SMP configuration by key, with `None` for keys that are not set. Values that are wrong by
themselves and CDK tokens are not in it: rules that need them do not run.
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
    """Return problems of degrees that exclude each other, or do not divide `world_size` processes or `experts`."""
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
    """The context degree must divide the shard degree: the parts of a sequence are in one shard group.

    The reference says that it must be at most the shard degree. 0, the shard degree's default, is no exception, neither
    there nor in AWS's own adapter.
    """
    context, shard = degrees.get(_CONTEXT, 1), degrees.get(_SHARD)
    if context == 1 or shard is None or (shard >= context and shard % context == 0):
        return
    if shard < context:
        message = f"`{_CONTEXT}` must be at most `{_SHARD}`, which is {shard}"
    else:
        message = f"`{_CONTEXT}` must divide `{_SHARD}`, which is {shard}"
    nearest = context * max(1, round(shard / context))
    yield Problem(
        code=Code.SMP_CONTEXT,
        message=message,
        remedy=f"write {_SHARD}: {nearest}"
        + (f", or a context degree that divides {shard}" if shard > 1 else f", or remove {_CONTEXT}"),
        path=(_CONTEXT,),
        value=context,
        allowed=f"a divisor of {_SHARD}",
    )


def _check_experts(degrees: Mapping[str, int], experts: int | None) -> Iterator[Problem]:
    degree = degrees.get(_EXPERT, 1)
    if degree == 1:
        return
    if degrees.get(_TENSOR, 1) > 1:
        yield _expert(
            "SMP v2 does not support expert and tensor parallelism together", "write 1 for one of them", degree
        )
    elif experts == 0:
        yield _expert(f"`{_EXPERT}` has no effect: the model has no experts", f"remove {_EXPERT}", degree)
    elif experts and experts % degree:
        yield _expert(
            f"{experts} experts cannot be divided evenly by {degree}", f"write {gcd(experts, degree)}", degree
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
    factors_text = " x ".join(f"{name} {value}" for name, value in factors.items() if value > 1)
    return [
        Problem(
            code=Code.SMP_WORLD_SIZE,
            message=f"{world_size} processes cannot be divided into groups of {product} ({factors_text})",
            remedy=f"write {_SHARD}: {gcd(factors[_SHARD], rest)}, or use nodes with a multiple of {product} processes"
            if rest
            else f"use nodes with a multiple of {product} processes",
            path=(_SHARD,),
            value=factors[_SHARD],
            allowed=f"a divisor of {rest}" if rest else "",
        )
    ]


def _uneven(name: str, degree: int, world_size: int) -> Problem:
    return Problem(
        code=Code.SMP_WORLD_SIZE,
        message=f"{world_size} processes cannot be divided into groups of {degree}",
        remedy=f"write {gcd(world_size, degree)}, or use nodes with a multiple of {degree} processes",
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
    """Return all that is wrong with `smp` for a job of `world_size` processes, one per GPU; `None`: unknown.

    `activation_checkpointing` is whether the job recomputes activations, `experts` the number of experts per layer of
    its model, 0 for a model without; with `None`, the rules that need it do not run.
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
    """Return the same for `values`: all keys of SMP, with `None` for those that are not set."""
    alone = [problem for name, value in values.items() for problem in _check_value(smp_keys()[name], value, world_size)]
    wrong = {problem.path[0] for problem in alone}
    known = {name: value for name, value in values.items() if name not in wrong and not is_unresolved(value)}
    return [
        *alone,
        *check_degrees(known, world_size=world_size, experts=experts),
        *_check_offloading(known, activation_checkpointing),
    ]


def smp_remarks(smp: SmpConfiguration) -> list[str]:
    """Return remarks about a valid `smp`, a sentence each."""
    remarks = [
        f"{name} above 1 only has an effect on a model that the script passes to torch.sagemaker.transform, as "
        "llm-fleet's training program does"
        for name, key in smp_keys().items()
        if key.needs_transform and _above_one(getattr(smp, name))
    ]
    for old, new in smp_aliases().items():
        if getattr(smp, old) is not None:
            remarks.append(
                f"{old} is the key in the library's announcement; llm-fleet writes {new}, the key in its reference"
            )
    return remarks


def _above_one(value: Any) -> bool:
    return type(value) is int and not is_unresolved(value) and value > 1


def _check_value(key: SmpKey, value: Any, world_size: int | None) -> list[Problem]:
    if value is None or is_unresolved(value):
        return []
    if key.type == "integer":
        what = f"`{key.name}`"
        return check_number(value, key.limit(world_size), Code.SMP_VALUE, key.name, what=what)
    if isinstance(value, bool):
        return []
    return [
        Problem(
            code=Code.SMP_VALUE,
            message=f"`{key.name}` must be true or false",
            remedy=f"write true or false; the default is {str(key.default).lower()}",
            path=(key.name,),
            value=value,
            allowed="true, false",
        )
    ]


def check_smp_seeds(smp: SmpConfiguration) -> list[Problem]:
    """Return what is wrong with `tensor_parallel_seed`, the old name of `random_seed`."""
    old = smp.tensor_parallel_seed
    if old is None or is_unresolved(old):
        return []
    key = smp_keys()["random_seed"]
    problems = check_number(old, key.limit(None), Code.SMP_VALUE, "tensor_parallel_seed", what="`tensor_parallel_seed`")
    if not problems and smp.random_seed is not None:
        problems.append(
            smp.wrong(
                "tensor_parallel_seed",
                Code.SMP_SEED_TWICE,
                "set only one of `random_seed` and `tensor_parallel_seed`, its old name",
                "remove tensor_parallel_seed",
            )
        )
    return problems


def _check_offloading(known: Mapping[str, Any], activation_checkpointing: bool | None) -> Iterator[Problem]:
    if activation_checkpointing is False and known.get("sm_activation_offloading") is True:
        yield Problem(
            code=Code.SMP_OFFLOADING,
            message="`sm_activation_offloading` has no effect without activation checkpointing",
            remedy="enable activation checkpointing, or remove sm_activation_offloading",
            path=("sm_activation_offloading",),
            value=True,
        )
