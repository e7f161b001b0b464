"""How the degrees of SMP v2 go together, with each other and with the number of processes.

`known` are the values of an SMP configuration by key, those left out being `None`, and those that are wrong by
themselves or known only at deploy time not in it: what depends on them is passed over.
"""

from collections.abc import Mapping
from math import gcd
from typing import Any

from llm_fleet.catalog.training_job import smp_keys
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

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


def _check_context(degrees: Mapping[str, int]) -> list[Problem]:
    """The context degree is at most the shard degree, and divides it: a sequence's parts lie in one shard group.

    The reference says the first, and 0, the shard degree's default, is no exception in it or in AWS's own adapter.
    """
    context, shard = degrees.get(_CONTEXT, 1), degrees.get(_SHARD)
    if context == 1 or shard is None or (shard >= context and shard % context == 0):
        return []
    if shard < context:
        message = f"the context degree is above the shard degree, which is {shard}"
    else:
        message = f"a shard group of {shard} processes cannot be divided into contexts of {context}"
    nearest = context * max(1, round(shard / context))
    return [
        Problem(
            code=Code.SMP_CONTEXT,
            message=message,
            remedy=f"write {_SHARD}: {nearest}"
            + (f", or a context degree that divides {shard}" if shard > 1 else ", or leave the context degree out"),
            path=(_CONTEXT,),
            value=context,
            allowed=f"a divisor of {_SHARD}",
        )
    ]


def _check_experts(degrees: Mapping[str, int], experts: int | None) -> list[Problem]:
    degree = degrees.get(_EXPERT, 1)
    if degree == 1:
        return []
    if degrees.get(_TENSOR, 1) > 1:
        return [_expert("expert and tensor parallelism do not go together in SMP v2", "write 1 for either", degree)]
    if experts == 0:
        return [_expert("the model has no experts that could be spread", f"leave {_EXPERT} out", degree)]
    if experts and experts % degree:
        return [
            _expert(f"{experts} experts cannot be spread evenly over {degree}", f"write {gcd(experts, degree)}", degree)
        ]
    return []


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
    told = " x ".join(f"{name} {value}" for name, value in factors.items() if value > 1)
    return [
        Problem(
            code=Code.SMP_WORLD_SIZE,
            message=f"{told} is {product}, and {world_size} processes cannot be divided into groups of that",
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
