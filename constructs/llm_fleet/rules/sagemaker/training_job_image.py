"""The container of a training job: whether it is there, is alive, and goes with the instance."""

from collections.abc import Iterator

from llm_fleet.catalog.training_job import (
    TrainingImageFamily,
    TrainingInstance,
    ended_images,
    smp_regions,
    smp_versions,
    training_image_families,
    training_instances,
    training_job_limit,
)
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.smp_run import check_smp_place
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import TrainingImage, TrainingImageKind

_CODE = SageMakerCode.TRAINING_IMAGE
_FOR = {"gpu": "for GPUs", "cpu": "without accelerators", "neuron": "for Trainium"}
_INSTEAD = {
    "gpu": "take the image pytorch or hugging-face",
    "cpu": "take the image pytorch, or an instance with GPUs such as ml.g5.xlarge",
    "neuron": "take the image pytorch-neuronx",
}


def check_image(job: TrainingJobSpec) -> list[Problem]:
    """Return why the image cannot be had, or cannot run on the instance, below `image`."""
    image = job.image
    found = list(_own(image) if image.kind is TrainingImageKind.OWN else _version(image))
    if not found:
        found = list(_on_instance(image, training_instances().get(job.instance_type)))
    return [problem.under("image") for problem in found]


def check_image_region(image: TrainingImage, region: str | None) -> list[Problem]:
    """Return why AWS does not offer the image in `region`, below `image`; an own one is where its address says.

    A region that only the deployment knows has no image that could be named; `None` is not judged.
    """
    if region is None or image.kind is TrainingImageKind.OWN:
        return []
    if is_unresolved(region):
        return [
            Problem(
                code=_CODE,
                message="AWS's image is in another registry in each region, and the stack's is not known",
                remedy="give the stack `env` with a region, or name an image of your own",
                path=("image",),
            )
        ]
    offered = smp_regions() if image.kind is TrainingImageKind.SMP else _family(image).regions
    if region in offered:
        return []
    return [
        Problem(
            code=_CODE,
            message=f"AWS does not offer this image in {region}",
            remedy="copy it into a repository of your own and name that, or take one of the regions allowed",
            path=("image",),
            value=region,
            allowed=", ".join(offered),
        )
    ]


def _family(image: TrainingImage) -> TrainingImageFamily:
    return training_image_families()[image.kind.value]


def _version(image: TrainingImage) -> Iterator[Problem]:
    version = image.version
    if version is None or is_unresolved(version):
        return
    of_smp = image.kind is TrainingImageKind.SMP
    known = smp_versions() if of_smp else tuple(_family(image).versions)
    if version in known:
        return
    title = "SMP v2 and PyTorch" if of_smp else _family(image).title
    retired = not of_smp and version in _family(image).retired
    offer = None if retired else nearest(version, known)
    yield Problem(
        code=_CODE,
        message=f"the image with {title} {version} is retired: nobody patches it"
        if retired
        else f"there is no image with {title} {version}",
        remedy=f"write {offer or image.kind.newest_version!r}, or leave the version out, which is the same"
        if (offer or image.kind.newest_version) == image.kind.newest_version
        else f"write {offer!r}",
        path=("version",),
        value=version,
        allowed=", ".join(known),
    )


def _own(image: TrainingImage) -> Iterator[Problem]:
    uri = image.own_uri or ""
    limit = training_job_limit("AlgorithmSpecification.TrainingImage")
    if is_unresolved(uri):
        return
    for ended in ended_images():
        if ended.pattern.search(uri):
            yield Problem(
                code=SageMakerCode.TRAINING_ENDED,
                message=f"this is {ended.what}",
                remedy=ended.successor,
                path=("own_uri",),
                value=uri,
            )
            return
    if "/" not in uri or not uri.partition("/")[2] or any(character.isspace() for character in uri):
        yield Problem(
            code=_CODE,
            message="this is no address of a container image",
            remedy="write registry, repository and tag, e.g. 111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0",
            path=("own_uri",),
            value=uri,
        )
    elif not limit.holds(len(uri)):
        yield Problem(
            code=_CODE,
            message=f"the address is {len(uri)} characters long",
            remedy="give the repository or the tag a shorter name",
            path=("own_uri",),
            value=uri,
            allowed=f"{limit.range} characters",
        )


def _on_instance(image: TrainingImage, instance: TrainingInstance | None) -> Iterator[Problem]:
    if instance is None or instance.successor is not None or image.kind is TrainingImageKind.OWN:
        return
    if instance.architecture != "x86_64":
        yield _wrong(
            f"AWS's training images are for x86 processors, and {instance.name} has Arm ones",
            "name an image of your own for it",
        )
    elif image.kind is TrainingImageKind.SMP:
        yield from (
            Problem(code=_CODE, message=each.message, remedy=each.remedy, allowed=each.allowed, value=each.value)
            for each in check_smp_place(instance.name, None)
        )
    else:
        yield from _processor(image, instance)


def _processor(image: TrainingImage, instance: TrainingInstance) -> Iterator[Problem]:
    family = _family(image)
    version = image.version or family.default
    if is_unresolved(version):
        return
    tags = family.versions[version].tags
    kinds = " or ".join(_FOR[processor] for processor in tags)
    if instance.processor not in tags:
        yield _wrong(
            f"this image is {kinds}, and {instance.name} is an instance {_FOR[instance.processor]}",
            _INSTEAD[instance.processor],
        )
    elif family.instances is not None and instance.family not in family.instances:
        yield _wrong(f"this image does not run on {instance.name}", f"take {' or '.join(family.instances)}")


def _wrong(message: str, remedy: str) -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy)
