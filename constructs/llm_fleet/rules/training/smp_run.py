"""Rules of SMP v2: instance types, regions and images, and the combination of a run with its configuration."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from llm_fleet.catalog.training_job import (
    SmpImage,
    derived_families,
    documented_families,
    smddp_instances,
    smp_images,
    smp_keys,
    smp_regions,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.training.run_plan import OF_SMP, RunPlan, backend_of, degree_of, plan_run
from llm_fleet.rules.training.smp import check_smp_seeds, check_smp_values, smp_remarks
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import ActivationCheckpointing, Backend, PlacedRun, TrainingRunSpec
from llm_fleet.spec.smp import SmpConfiguration

_BACKENDS = ("nccl", "smddp")


def check_smp_place(instance_type: str, region: str | None) -> list[Problem]:
    """Return why SMP v2 has no image for `instance_type`, with or without `ml.`, or does not offer it in `region`."""
    return [*_check_instance(instance_type), *_check_region(region)]


def check_smp_image(pytorch: str) -> list[Problem]:
    """Return a problem when there is no image of SMP v2 with this version of PyTorch."""
    if is_unresolved(pytorch) or pytorch in smp_images():
        return []
    return [
        Problem(
            code=Code.SMP_IMAGE,
            message="SMP v2 has no image with this PyTorch version",
            remedy=did_you_mean(str(pytorch), smp_images(), otherwise=f"write `{newest_smp_image().pytorch}`"),
            path=("pytorch",),
            value=pytorch,
            allowed=", ".join(smp_images()),
        )
    ]


def check_smp_backend(backend: str | None, instance_type: str) -> list[Problem]:
    """Return why `backend` cannot be used for a job on `instance_type`; `None` is always right."""
    if backend is None or is_unresolved(backend):
        return []
    if backend not in _BACKENDS:
        return [
            Problem(
                code=Code.SMP_BACKEND,
                message="unknown process group backend of SMP",
                remedy=did_you_mean(str(backend), _BACKENDS, otherwise="remove it"),
                path=("backend",),
                value=backend,
                allowed=", ".join(_BACKENDS),
            )
        ]
    if backend == "nccl" or is_unresolved(instance_type) or _plain(instance_type) in smddp_instances():
        return []
    return [
        Problem(
            code=Code.SMP_BACKEND,
            message=f"SMDDP does not support {instance_type}: its import fails there",
            remedy="write nccl, or remove it",
            path=("backend",),
            value=backend,
            allowed="nccl",
        )
    ]


def newest_smp_image() -> SmpImage:
    """Return the newest image; AWS has stopped releasing new ones."""
    return next(iter(smp_images().values()))


def place_remarks(instance_type: str) -> list[str]:
    """Return remarks about SMP v2 on `instance_type`, a sentence each."""
    if is_unresolved(instance_type) or _family(instance_type) not in derived_families():
        return []
    return [
        f"{instance_type} is not among AWS's families for SMP v2, although its image has kernels for this GPU; the "
        f"families are {', '.join(documented_families())}"
    ]


def _check_instance(instance_type: str) -> Iterator[Problem]:
    if is_unresolved(instance_type) or _family(instance_type) in (*documented_families(), *derived_families()):
        return
    yield Problem(
        code=Code.SMP_INSTANCE,
        message=f"SMP v2 does not support {instance_type}",
        remedy=f"use an instance type of {' or '.join(documented_families())}, or another backend: "
        "fsdp on other GPUs, neuron on Trainium",
        path=("instance_type",),
        value=str(instance_type),
        allowed=", ".join((*documented_families(), *derived_families())),
    )


def _check_region(region: str | None) -> Iterator[Problem]:
    if region is not None and not is_unresolved(region) and region not in smp_regions():
        yield Problem(
            code=Code.SMP_REGION,
            message=f"AWS does not offer the images of SMP v2 in {region}",
            remedy="copy the image to your own ECR repository and use that image, use one of the allowed regions, "
            "or use the backend fsdp",
            path=("region",),
            value=region,
            allowed=", ".join(smp_regions()),
        )


def _plain(instance_type: str) -> str:
    return str(instance_type).removeprefix("ml.")


def _family(instance_type: str) -> str:
    return _plain(instance_type).split(".")[0]


_OF_RUN = {
    "hybrid_shard_degree": "shard_degree",
    "tensor_parallel_degree": "tensor_parallel",
    "context_parallel_degree": "context_parallel",
    "random_seed": "seed",
}
"""Keys of SMP and the attributes of a job with the same meaning."""


def check_smp_run(smp: SmpConfiguration, run: TrainingRunSpec) -> Iterator[Problem]:
    """Return a problem for each degree that differs between `smp` and its job; the seeds may differ."""
    for name, of_run in _OF_RUN.items():
        if of_run == "seed":
            continue
        mine, theirs = getattr(smp, name), getattr(run, of_run)
        if mine is None or theirs is None or is_unresolved(mine) or is_unresolved(theirs) or mine == theirs:
            continue
        yield Problem(
            code=Code.SMP_TWICE,
            message=f"`{name}` differs from `{of_run}` of the job, which is {theirs}",
            remedy=f"remove {name}: the job's {of_run} is used",
            path=(name,),
            value=mine,
            allowed=str(theirs),
        )


def check_smp_in_run(
    smp: SmpConfiguration | None,
    run: TrainingRunSpec,
    *,
    world_size: int | None = None,
    activation_checkpointing: bool | None = None,
    experts: int | None = None,
) -> list[Problem]:
    """Return all that is wrong with the resulting configuration of a job of backend `smp`.

    Paths are those of the job: `smp` and the key, or the job's attribute that sets the value. `smp` is `None`
    when the job sets only degrees; the other arguments are those of `check_smp`.
    """
    taken = _values_of_run(run) if smp is None else run_values(smp, run)
    values = {name: taken.get(name, getattr(smp, name, None)) for name in smp_keys()}
    found = check_smp_values(
        values, world_size=world_size, activation_checkpointing=activation_checkpointing, experts=experts
    )
    at_home = [
        replace(problem, path=(_OF_RUN[str(problem.path[0])],)) if problem.path[0] in taken else problem.under("smp")
        for problem in found
    ]
    if smp is None:
        return at_home
    return [*(problem.under("smp") for problem in (*check_smp_seeds(smp), *check_smp_run(smp, run))), *at_home]


def _values_of_run(run: TrainingRunSpec) -> Mapping[str, Any]:
    values = {name: getattr(run, of_run) for name, of_run in _OF_RUN.items()}
    return {name: value for name, value in values.items() if value is not None}


def run_values(smp: SmpConfiguration, run: TrainingRunSpec) -> Mapping[str, Any]:
    """Return the values that `run` sets and `smp` does not, by the keys of SMP."""
    values = {name: value for name, value in _values_of_run(run).items() if getattr(smp, name) is None}
    if smp.tensor_parallel_seed is not None:
        values.pop("random_seed", None)
    return values


_EXPERTS = 0
"""The training program supports only models of Llama's architecture, which have no experts."""


def smp_problems(run: PlacedRun, region: str | None = None) -> list[Problem]:
    """Return what is wrong with degrees and configuration of a run of `SMP`, or a problem when another run has one."""
    plan = plan_run(run)
    if plan is None:
        return []
    if plan.backend is not Backend.SMP:
        return [] if run.smp is None else [_without_use(plan.backend)]
    found = check_smp_in_run(
        run.smp,
        _with_shards(run, plan.shard_degree),
        world_size=plan.world,
        activation_checkpointing=plan.activation_checkpointing is not ActivationCheckpointing.NONE,
        experts=_EXPERTS,
    )
    place = [replace(each, path=("backend",)) for each in check_smp_place(run.partition.instance_type, region)]
    backend = None if run.smp is None else run.smp.backend
    own = check_smp_backend(backend, run.partition.instance_type)
    return [*place, *found, *_of_program(plan), *(problem.under("smp") for problem in own)]


def _of_program(plan: RunPlan) -> Iterator[Problem]:
    """Return what llm-fleet's training program rejects, although the library supports it."""
    if plan.activation_checkpointing is ActivationCheckpointing.SELECTIVE:
        yield Problem(
            code=Code.SMP_CHECKPOINTING,
            message="SMP v2 supports only full activation checkpointing, or none",
            remedy="write activation_checkpointing='full', or remove activation_checkpointing",
            path=("activation_checkpointing",),
            value=plan.activation_checkpointing,
            allowed="full, none",
        )


def smp_remarks_of(run: PlacedRun) -> list[str]:
    """Return remarks about a valid run of `SMP`, a sentence each."""
    if backend_of(run) is not Backend.SMP:
        return []
    return [*place_remarks(run.partition.instance_type), *(smp_remarks(run.smp) if run.smp is not None else [])]


def _with_shards(run: PlacedRun, degree: int) -> PlacedRun:
    """Return `run` with the shard degree `degree`, as its batch files set it, unless the user set one."""
    open_to_us = run.shard_degree is None and (run.smp is None or run.smp.hybrid_shard_degree is None)
    return run.model_copy(update={"shard_degree": degree}) if open_to_us else run


def _without_use(backend: Backend) -> Problem:
    return Problem(
        code=Code.JOB_SMP,
        message=f"`smp` has no effect: the backend {backend.value} does not use SMP v2",
        remedy="remove smp, or write backend='smp'",
        path=("smp",),
    )


def with_degrees_of_smp(run: PlacedRun) -> PlacedRun:
    """Return `run` with the degrees of its configuration of SMP as its own; the same run when there are none."""
    degrees = {own: degree_of(run, own) for own in _set_in_smp(run)}
    if not degrees or run.smp is None:
        return run
    left = run.smp.model_copy(update={OF_SMP[own]: None for own in degrees})
    return run.model_copy(update={**degrees, "smp": left})


def path_in_smp(path: tuple[PathPart, ...], run: PlacedRun) -> tuple[PathPart, ...]:
    """Return `path`, or for a degree that the configuration of SMP sets, the path in that configuration."""
    there = path[:1] and path[0] in _set_in_smp(run)
    return ("smp", OF_SMP[str(path[0])]) if there else path


def in_words_of_smp(remedy: str, run: PlacedRun) -> str:
    """Return a remedy with SMP's keys for the degrees that the configuration of SMP sets."""
    for own in _set_in_smp(run):
        remedy = re.sub(rf"\b{own}\b", OF_SMP[own], remedy)
    return remedy


def _set_in_smp(run: PlacedRun) -> list[str]:
    return [own for own in OF_SMP if getattr(run, own) is None and degree_of(run, own) is not None]
