"""Where SMP v2 runs: which instances and regions have an image, and whose collectives the processes use."""

from llm_fleet.catalog.training_job import (
    SmpImage,
    derived_families,
    documented_families,
    smddp_instances,
    smp_images,
    smp_regions,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_BACKENDS = ("nccl", "smddp")


def check_smp_place(instance_type: str, region: str | None) -> list[Problem]:
    """Return why SMP v2 has no image for `instance_type`, with or without `ml.`, or none in `region`."""
    return [*_check_instance(instance_type), *_check_region(region)]


def check_smp_image(pytorch: str) -> list[Problem]:
    """Return a problem when there is no image of SMP v2 with this version of PyTorch."""
    if is_unresolved(pytorch) or pytorch in smp_images():
        return []
    return [
        Problem(
            code=Code.SMP_IMAGE,
            message="SMP v2 has no image with this PyTorch",
            remedy=did_you_mean(str(pytorch), smp_images(), otherwise=f"write {newest_smp_image().pytorch!r}"),
            path=("pytorch",),
            value=pytorch,
            allowed=", ".join(smp_images()),
        )
    ]


def check_smp_backend(backend: str | None, instance_type: str) -> list[Problem]:
    """Return why `backend` cannot carry the collectives of a job on `instance_type`; `None` is always right."""
    if backend is None or is_unresolved(backend):
        return []
    if backend not in _BACKENDS:
        return [
            Problem(
                code=Code.SMP_BACKEND,
                message="no such backend of a process group is known to SMP",
                remedy=did_you_mean(str(backend), _BACKENDS, otherwise="leave it out"),
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
            message=f"SMDDP does not run on {instance_type}: it refuses to be imported there",
            remedy="write nccl, or leave it out",
            path=("backend",),
            value=backend,
            allowed="nccl",
        )
    ]


def newest_smp_image() -> SmpImage:
    """Return the newest image; no newer one is expected, for releases have stopped."""
    return next(iter(smp_images().values()))


def place_remarks(instance_type: str) -> list[str]:
    """Return what a user should know of SMP v2 on `instance_type`, a sentence each."""
    if is_unresolved(instance_type) or _family(instance_type) not in derived_families():
        return []
    return [
        f"AWS does not name {instance_type} for SMP v2: its image has kernels for such a GPU, and that is all that is "
        f"known; AWS names {', '.join(documented_families())}"
    ]


def _check_instance(instance_type: str) -> list[Problem]:
    if is_unresolved(instance_type) or _family(instance_type) in (*documented_families(), *derived_families()):
        return []
    return [
        Problem(
            code=Code.SMP_INSTANCE,
            message=f"there is no image of SMP v2 for {instance_type}",
            remedy=f"take an instance of {' or '.join(documented_families())}, or another backend: "
            "fsdp on other GPUs, neuron on Trainium",
            path=("instance_type",),
            value=str(instance_type),
            allowed=", ".join((*documented_families(), *derived_families())),
        )
    ]


def _check_region(region: str | None) -> list[Problem]:
    if region is None or is_unresolved(region) or region in smp_regions():
        return []
    return [
        Problem(
            code=Code.SMP_REGION,
            message=f"the images of SMP v2 are not offered in {region}",
            remedy="copy the image into a repository of your own and name that, take one of the regions allowed, "
            "or the backend fsdp",
            path=("region",),
            value=region,
            allowed=", ".join(smp_regions()),
        )
    ]


def _plain(instance_type: str) -> str:
    return str(instance_type).removeprefix("ml.")


def _family(instance_type: str) -> str:
    return _plain(instance_type).split(".")[0]
