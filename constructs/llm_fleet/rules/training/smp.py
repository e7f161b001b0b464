"""The configuration of the SageMaker model parallel library v2 (SMP): each key, and how they go together.

Beside the reference (`distributed-model-parallel-v2-reference`), what the guide's pages on context and expert
parallelism say, and what AWS's own HyperPod adapter for NeMo checks before it starts the library
(sagemaker-hyperpod-training-adapter-for-nemo, `validate_distributed_degrees`).
"""

from collections.abc import Mapping
from typing import Any

from llm_fleet.catalog.training_job import SmpKey, smp_aliases, smp_keys
from llm_fleet.rules.codes import Code
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.smp_degrees import check_degrees
from llm_fleet.spec.smp import SmpConfiguration


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
            Problem(
                code=Code.SMP_SEED_TWICE,
                message="the seed is told twice: tensor_parallel_seed is the old name of random_seed",
                remedy="leave tensor_parallel_seed out",
                path=("tensor_parallel_seed",),
                value=old,
            )
        )
    return problems


def _check_offloading(known: Mapping[str, Any], activation_checkpointing: bool | None) -> list[Problem]:
    if activation_checkpointing is not False or known.get("sm_activation_offloading") is not True:
        return []
    return [
        Problem(
            code=Code.SMP_OFFLOADING,
            message="the library offloads the activations of checkpointed layers, and this job checkpoints none",
            remedy="turn activation checkpointing on, or leave sm_activation_offloading out",
            path=("sm_activation_offloading",),
            value=True,
        )
    ]
