"""The container image of an endpoint: one of AWS's for what the instance computes with, or the user's own."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import (
    EndpointImageFacts,
    EndpointInstance,
    default_image_kind,
    endpoint_images,
    image_regions_of,
    image_title,
    retired_image,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_instance import accelerator_of
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointImageLike, EndpointModelLike
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind
from llm_fleet.rules.tokens import is_unresolved

_ECR = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)"
    r"(?:[:@](?P<tag>\S+))?"
)
_RETIRED = re.compile(r"huggingface-(?:pytorch|tensorflow)-inference:\S*transformers(?P<version>[0-9.]+)-")
_ARCHITECTURE = "x86_64"
_OWN = "or name an image of your own that runs there"


def image_kind(image: EndpointImageLike, instance: EndpointInstance) -> EndpointImageKind | None:
    """Return what serves: as told, else what is usual on `instance`; `None` for an image of the user's own."""
    accelerator = accelerator_of(instance)
    if image.uri is not None or accelerator is None:
        return None
    return image.kind or EndpointImageKind(default_image_kind(accelerator))


def image_facts(image: EndpointImageLike, instance: EndpointInstance) -> EndpointImageFacts | None:
    """Return the image of the catalog; `None` for one of the user's own, and where there is none."""
    kind, accelerator = image_kind(image, instance), accelerator_of(instance)
    if kind is None or accelerator is None:
        return None
    versions = endpoint_images(kind, accelerator)
    version = image.version if image.version is not None else next(iter(versions), None)
    return versions.get(version) if version is not None else None


def check_endpoint_image(
    image: EndpointImageLike, model: EndpointModelLike, instance: EndpointInstance, *, region: str | None
) -> list[Problem]:
    """Return what is wrong with `image` on `instance`, at paths that begin with `image`."""
    if image.uri is not None:
        return [*_own(image.uri, region)]
    facts = image_facts(image, instance)
    if facts is None:
        return [*_none_there(image, instance)]
    return [*_goes_with(facts, instance), *_in_region(facts, region), *_task(facts, model)]


def check_image_alone(image: EndpointImageLike) -> list[Problem]:
    """Return a problem for a version that is retired, and for what does not go together, whatever the instance."""
    twice = [*_said_twice(image)]
    if twice:
        return twice
    if image.uri is not None:
        found = _RETIRED.search(image.uri)
        successor = retired_image(EndpointImageKind.HUGGING_FACE, found["version"]) if found else None
        return [] if found is None or successor is None else [_retired(found["version"], successor, image.uri, "uri")]
    if image.kind is None or image.version is None:
        return []
    successor = retired_image(image.kind, image.version)
    return [] if successor is None else [_retired(image.version, successor, image.version, "version")]


def _said_twice(image: EndpointImageLike) -> Iterator[Problem]:
    if image.uri is not None:
        for name, value in {"kind": image.kind, "version": image.version}.items():
            if value is not None:
                yield Problem(
                    code=Code.CONTRADICTION,
                    path=("image", name),
                    message="the image is named by its URI, which says what it is and in which version",
                    value=str(value),
                    remedy="leave it out, or the URI",
                )
    elif image.cuda is not None:
        yield Problem(
            code=Code.CONTRADICTION,
            path=("image", "cuda"),
            message="which CUDA AWS's images were built for is known",
            value=image.cuda,
            remedy="leave it out: it is for an image of your own",
        )


def _retired(version: str, successor: str, value: str, field: str) -> Problem:
    return Problem(
        code=SageMakerCode.ENDPOINT_IMAGE_RETIRED,
        path=("image", field),
        message=f"the image with transformers {version} gets no more patches, neither for its PyTorch nor for its CUDA",
        value=value,
        remedy=f"take the image with transformers {successor}, or vLLM's for a model that writes text",
    )


def _none_there(image: EndpointImageLike, instance: EndpointInstance) -> Iterator[Problem]:
    kind, accelerator = image_kind(image, instance), accelerator_of(instance)
    if kind is None or accelerator is None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("image",),
            message=f"no image of AWS's is known to run on {instance.name}",
            remedy=f"take another instance type, {_OWN}",
        )
        return
    versions = endpoint_images(kind, accelerator)
    if versions:
        if check_image_alone(image):
            return  # told already, with its successor
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("image", "version"),
            message=f"{image_title(kind)} is not known in this version for {_words(accelerator)}",
            value=image.version,
            allowed=", ".join(versions),
            remedy="leave it out for the newest, or name the image by its URI",
        )
        return
    yield Problem(
        code=SageMakerCode.ENDPOINT_IMAGE,
        path=("image",),
        message=f"{image_title(kind)} does not run on {_words(accelerator)}, which is all that {instance.name} has",
        value=kind.value,
        allowed=default_image_kind(accelerator),
        remedy=f"take {default_image_kind(accelerator)}, or an instance type with GPUs such as ml.g5.xlarge",
    )


def _goes_with(facts: EndpointImageFacts, instance: EndpointInstance) -> Iterator[Problem]:
    if facts.families and instance.family not in facts.families:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("instance_type",),
            message=f"{image_title(facts.kind)} {facts.version} does not run on {instance.family}",
            value=instance.name,
            allowed=", ".join(facts.families),
            remedy=f"take an instance type of these families, {_OWN}",
        )
    if instance.architecture != _ARCHITECTURE:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("instance_type",),
            message=f"AWS's images are made for x86 processors, and {instance.name} has Arm's",
            value=instance.name,
            remedy=f"take an x86 type such as ml.m7i.xlarge, {_OWN}",
        )


def _in_region(facts: EndpointImageFacts, region: str | None) -> Iterator[Problem]:
    if region is None or is_unresolved(region):
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE_REGION,
            path=("image",),
            message="AWS's images are in another account in each region, and this stack's region is not known",
            remedy="give the stack an env with its region, or name the image by its URI",
        )
    elif region not in image_regions_of(facts):
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE_REGION,
            path=("image",),
            message=f"{image_title(facts.kind)} is not in {region}",
            value=facts.tag,
            allowed=", ".join(image_regions_of(facts)),
            remedy="deploy to one of these regions, or copy the image into ECR of this one and name it by its URI",
        )


def _task(facts: EndpointImageFacts, model: EndpointModelLike) -> Iterator[Problem]:
    if model.task is not None and facts.kind != EndpointImageKind.HUGGING_FACE:
        yield Problem(
            code=SageMakerCode.ENDPOINT_MODEL,
            path=("model", "task"),
            message=f"{image_title(facts.kind)} writes text and has no tasks",
            value=model.task,
            remedy="leave it out, or take the image `hugging-face`, which runs transformers' pipelines",
        )


def _own(uri: str, region: str | None) -> Iterator[Problem]:
    if is_unresolved(uri):
        return
    found = _ECR.fullmatch(uri)
    known = region is not None and not is_unresolved(region)
    if found is not None and not is_unresolved(uri) and (not known or found["region"] == region):
        return
    message = "SageMaker runs images out of ECR" if found is None else f"this image is in {found['region']}"
    yield Problem(
        code=SageMakerCode.ENDPOINT_IMAGE_REGION,
        path=("image", "uri"),
        message=f"{message}; endpoints take images from a private ECR registry of their own region only",
        value=uri,
        allowed=f"<account>.dkr.ecr.{region or '<region>'}.amazonaws.com/<repository>:<tag>",
        remedy="copy it there: `docker buildx imagetools create -t <account>.dkr.ecr.<region>.amazonaws.com/… …`",
    )


def _words(accelerator: str) -> str:
    return {"cpu": "processors alone", "gpu": "GPUs", "neuron": "Neuron devices"}[accelerator]
