"""On what an endpoint runs, and what: instance type, container image, and the AMI whose driver must know its CUDA."""

import difflib
import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import (
    EndpointImageFacts,
    EndpointInstance,
    InferenceAmi,
    default_cuda,
    default_image_kind,
    endpoint_images,
    endpoint_instance,
    endpoint_instance_names,
    family_of,
    image_regions_of,
    image_title,
    inference_amis,
    retired_endpoint_families,
    retired_image,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, is_unresolved, rule, under
from llm_fleet.spec.endpoint import EndpointImage, EndpointImageKind, EndpointModel

_ECR = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)"
    r"(?:[:@](?P<tag>\S+))?"
)
_RETIRED = re.compile(r"huggingface-(?:pytorch|tensorflow)-inference:\S*transformers(?P<version>[0-9.]+)-")
_ARCHITECTURE = "x86_64"
_OWN = "or name an image of your own that runs there"


PROCESSORS = "cpu"
_PREFIX = "ml."


def known_instance(instance_type: str) -> EndpointInstance | None:
    """Return the facts of `instance_type`; `None` of one that is not there, or that is known only at deploy time."""
    return None if is_unresolved(instance_type) else endpoint_instance(instance_type)


def accelerator_of(instance: EndpointInstance) -> str | None:
    """Return what computes: `cpu`, `gpu` or `neuron`; `None` of a type that no source tells of."""
    if not instance.known:
        return None
    return instance.accelerator or PROCESSORS


def check_endpoint_instance(instance_type: str) -> Iterator[Problem]:
    """Return a problem unless endpoints can run on `instance_type`."""
    if is_unresolved(instance_type):
        yield Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            path=("instance_type",),
            message="the instance type is not known at synth, and image, driver and memory follow from it",
            remedy="write it, e.g. 'ml.g4dn.xlarge'; what differs by stage can be chosen by the app's context",
        )
        return
    if endpoint_instance(instance_type) is not None:
        return
    successor = retired_endpoint_families().get(family_of(instance_type))
    if successor is not None:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            path=("instance_type",),
            message=f"instances of the family {family_of(instance_type)} are no longer offered to new users",
            value=instance_type,
            remedy=f"write an instance type of {successor}, e.g. {_first_of(successor)!r}",
        )
        return
    yield Problem(
        code=SageMakerCode.INSTANCE_UNKNOWN,
        path=("instance_type",),
        message="SageMaker has no such instance type for endpoints",
        value=instance_type,
        allowed=_near(instance_type),
        remedy=_remedy(instance_type),
    )


def _first_of(family: str) -> str:
    return next(name for name in endpoint_instance_names() if family_of(name) == family)


def _remedy(instance_type: str) -> str:
    if endpoint_instance(f"{_PREFIX}{instance_type}") is not None:
        return f"write {_PREFIX}{instance_type}: SageMaker's names begin with `{_PREFIX}`"
    return "write one of the types that SageMaker's page on pricing lists under real-time inference"


def _near(instance_type: str) -> str:
    wanted = f"{_PREFIX}{instance_type.removeprefix(_PREFIX)}"
    close = difflib.get_close_matches(wanted, endpoint_instance_names(), n=4, cutoff=0.7)
    return ", ".join(close) or "e.g. ml.g4dn.xlarge, ml.g5.xlarge, ml.inf2.xlarge, ml.m7i.xlarge"


def image_kind(image: EndpointImage, instance: EndpointInstance) -> EndpointImageKind | None:
    """Return what serves: as told, else what is usual on `instance`; `None` for an image of the user's own."""
    accelerator = accelerator_of(instance)
    if image.uri is not None or accelerator is None:
        return None
    return image.kind or EndpointImageKind(default_image_kind(accelerator))


def image_facts(image: EndpointImage, instance: EndpointInstance) -> EndpointImageFacts | None:
    """Return the image of the catalog; `None` for one of the user's own, and where there is none."""
    kind, accelerator = image_kind(image, instance), accelerator_of(instance)
    if kind is None or accelerator is None:
        return None
    versions = endpoint_images(kind, accelerator)
    version = image.version if image.version is not None else next(iter(versions), None)
    return versions.get(version) if version is not None else None


def check_endpoint_image(
    image: EndpointImage, model: EndpointModel, instance: EndpointInstance, *, region: str | None
) -> list[Problem]:
    """Return what is wrong with `image` on `instance`, at paths that begin with `image`."""
    if image.uri is not None:
        return under(_own(image, image.uri, region), "image")
    facts = image_facts(image, instance)
    if facts is None:
        return [*_none_there(image, instance)]
    return [*_goes_with(facts, instance), *_in_region(facts, region), *_task(facts, model)]


@rule
def check_image_alone(image: EndpointImage) -> Iterator[Problem]:
    """Return a problem for a version that is retired, and for what does not go together, whatever the instance."""
    twice = [*_said_twice(image)]
    yield from under(twice or _check_age(image), "image")


def _check_age(image: EndpointImage) -> Iterator[Problem]:
    of_uri = _RETIRED.search(image.uri) if image.uri is not None else None
    kind = EndpointImageKind.HUGGING_FACE if of_uri else image.kind
    version = of_uri["version"] if of_uri else image.version
    known = kind is not None and version is not None and (of_uri is not None or image.uri is None)
    successor = retired_image(kind, version) if known and kind and version else None
    if successor is not None:
        yield image.wrong(
            "uri" if of_uri else "version",
            SageMakerCode.ENDPOINT_IMAGE_RETIRED,
            f"the image with transformers {version} gets no more patches, neither for its PyTorch nor for its CUDA",
            f"take the image with transformers {successor}, or vLLM's for a model that writes text",
        )


def _said_twice(image: EndpointImage) -> Iterator[Problem]:
    for name in ("kind", "version") if image.uri is not None else ():
        if getattr(image, name) is not None:
            yield image.wrong(
                name,
                Code.CONTRADICTION,
                "the image is named by its URI, which says what it is and in which version",
                "leave it out, or the URI",
            )
    if image.uri is None and image.cuda is not None:
        yield image.wrong(
            "cuda",
            Code.CONTRADICTION,
            "which CUDA AWS's images were built for is known",
            "leave it out: it is for an image of your own",
        )


def _none_there(image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
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
    if not versions:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("image",),
            message=f"{image_title(kind)} does not run on {_words(accelerator)}, which is all that {instance.name} has",
            value=kind.value,
            allowed=default_image_kind(accelerator),
            remedy=f"take {default_image_kind(accelerator)}, or an instance type with GPUs such as ml.g5.xlarge",
        )
    elif not check_image_alone(image):  # Which tells the successor.
        yield image.wrong(
            "version",
            SageMakerCode.ENDPOINT_IMAGE,
            f"{image_title(kind)} is not known in this version for {_words(accelerator)}",
            "leave it out for the newest, or name the image by its URI",
            allowed=", ".join(versions),
        ).under("image")


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


def _task(facts: EndpointImageFacts, model: EndpointModel) -> Iterator[Problem]:
    if model.task is not None and facts.kind != EndpointImageKind.HUGGING_FACE:
        yield model.wrong(
            "task",
            SageMakerCode.ENDPOINT_MODEL,
            f"{image_title(facts.kind)} writes text and has no tasks",
            "leave it out, or take the image `hugging-face`, which runs transformers' pipelines",
        ).under("model")


def _own(image: EndpointImage, uri: str, region: str | None) -> Iterator[Problem]:
    if is_unresolved(uri):
        return
    found = _ECR.fullmatch(uri)
    known = region is not None and not is_unresolved(region)
    if found is None or (known and found["region"] != region):
        message = "SageMaker runs images out of ECR" if found is None else f"this image is in {found['region']}"
        yield image.wrong(
            "uri",
            SageMakerCode.ENDPOINT_IMAGE_REGION,
            f"{message}; endpoints take images from a private ECR registry of their own region only",
            "copy it there: `docker buildx imagetools create -t <account>.dkr.ecr.<region>.amazonaws.com/… …`",
            allowed=f"<account>.dkr.ecr.{region or '<region>'}.amazonaws.com/<repository>:<tag>",
        )


def _words(accelerator: str) -> str:
    return {"cpu": "processors alone", "gpu": "GPUs", "neuron": "Neuron devices"}[accelerator]


_CUDA = re.compile(r"\d+\.\d+")
_GPU = "gpu"


def cuda_of(image: EndpointImage, instance: EndpointInstance) -> str | None:
    """Return the CUDA that `image` was built for; `None` without GPUs, and where nobody told."""
    facts = image_facts(image, instance)
    return image.cuda if facts is None else facts.cuda


def ami_for(image: EndpointImage, instance: EndpointInstance) -> InferenceAmi | None:
    """Return the AMI with the oldest driver that knows all of the image's CUDA and boots on `instance`.

    `None` where SageMaker's own choice stays: without GPUs, for a CUDA that nobody told, on a family of which no
    source tells, and where the instance's default driver is enough. On Neuron SageMaker's own choice stays:
    assumption: neuron-endpoint-driver
    """
    cuda = cuda_of(image, instance)
    if accelerator_of(instance) != _GPU or cuda is None or not _CUDA.fullmatch(cuda):
        return None
    usual = default_cuda(instance.family)
    if usual is not None and _number(usual) >= _number(cuda):
        return None
    return next((ami for ami in _booting(instance) if ami.cuda and _number(ami.cuda) >= _number(cuda)), None)


@rule
def check_ami(name: str | None, image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
    """Return what is wrong with the AMI `name` for `image` on `instance`; `None` is the one that is chosen."""
    if image.cuda is not None and not is_unresolved(image.cuda) and not _CUDA.fullmatch(image.cuda):
        yield image.wrong(
            "cuda",
            SageMakerCode.ENDPOINT_AMI,
            "this is no version of CUDA",
            "write the image's CUDA, e.g. '13.0' for a tag with cu130",
            allowed="such as 12.4",
        ).under("image")
        return
    ami = None if name is None or is_unresolved(name) else inference_amis().get(name)
    if ami is not None:
        yield from _on_instance(ami, instance)
        yield from _for_image(ami, image, instance)
    elif name is not None and not is_unresolved(name):
        yield Problem(
            code=SageMakerCode.ENDPOINT_AMI,
            path=("inference_ami",),
            message="SageMaker knows no such AMI for endpoints",
            value=name,
            allowed=", ".join(inference_amis()),
            remedy="leave it out: what goes with image and instance is chosen",
        )


def _on_instance(ami: InferenceAmi, instance: EndpointInstance) -> Iterator[Problem]:
    if instance.family in ami.families:
        return
    fitting = [each.name for each in _booting(instance)]
    yield Problem(
        code=SageMakerCode.ENDPOINT_AMI,
        path=("inference_ami",),
        message=f"this AMI is not known to boot on {instance.family}",
        value=ami.name,
        allowed=", ".join(fitting) or "none: leave it out",
        remedy="leave it out, or take an AMI for this family",
    )


def _for_image(ami: InferenceAmi, image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
    cuda = cuda_of(image, instance)
    if cuda is None or ami.cuda is None or is_unresolved(cuda) or _number(ami.cuda)[0] >= _number(cuda)[0]:
        return  # within a major version newer programs run on older drivers (NVIDIA: minor version compatibility)
    fitting = [each.name for each in _booting(instance) if each.cuda and _number(each.cuda) >= _number(cuda)]
    yield Problem(
        code=SageMakerCode.ENDPOINT_AMI,
        path=("inference_ami",),
        message=f"the image was built for CUDA {cuda}, and driver {ami.driver} of this AMI knows CUDA {ami.cuda}: the "
        "container would end at its start, without a line in its log",
        value=ami.name,
        allowed=", ".join(fitting),
        remedy="leave it out, or take an image that was built for an older CUDA",
    )


def _booting(instance: EndpointInstance) -> list[InferenceAmi]:
    return [ami for ami in inference_amis().values() if instance.family in ami.families]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
