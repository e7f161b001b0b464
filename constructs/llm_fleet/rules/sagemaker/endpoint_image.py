"""Rules for an endpoint's instance type, container image, and the AMI whose driver must support the image's CUDA."""

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
_OWN = "or name your own image that runs there"


PROCESSORS = "cpu"
_PREFIX = "ml."


def known_instance(instance_type: str) -> EndpointInstance | None:
    """Return the facts of `instance_type`; `None` when it does not exist, or is a CDK token."""
    return None if is_unresolved(instance_type) else endpoint_instance(instance_type)


def accelerator_of(instance: EndpointInstance) -> str | None:
    """Return what the model runs on: `cpu`, `gpu` or `neuron`; `None` for an unknown type."""
    if not instance.known:
        return None
    return instance.accelerator or PROCESSORS


def check_endpoint_instance(instance_type: str) -> Iterator[Problem]:
    """Return a problem unless endpoints can run on `instance_type`."""
    if is_unresolved(instance_type):
        yield Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            path=("instance_type",),
            message="`instance_type` is a CDK token, and image, driver and memory depend on it at synth",
            remedy="write it, e.g. `ml.g4dn.xlarge`; to use another one per stage, read it from the app's context",
        )
        return
    if endpoint_instance(instance_type) is not None:
        return
    successor = retired_endpoint_families().get(family_of(instance_type))
    if successor is not None:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            path=("instance_type",),
            message=f"AWS no longer offers instances of the family {family_of(instance_type)} to new customers",
            value=instance_type,
            remedy=f"write an instance type of {successor}, e.g. `{_first_of(successor)}`",
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
    return "write one of the instance types that the SageMaker AI pricing page lists under real-time inference"


def _near(instance_type: str) -> str:
    wanted = f"{_PREFIX}{instance_type.removeprefix(_PREFIX)}"
    close = difflib.get_close_matches(wanted, endpoint_instance_names(), n=4, cutoff=0.7)
    return ", ".join(close) or "e.g. ml.g4dn.xlarge, ml.g5.xlarge, ml.inf2.xlarge, ml.m7i.xlarge"


def image_kind(image: EndpointImage, instance: EndpointInstance) -> EndpointImageKind | None:
    """Return the kind that the user set, or the default for `instance`; `None` for the user's own image."""
    accelerator = accelerator_of(instance)
    if image.uri is not None or accelerator is None:
        return None
    return image.kind or EndpointImageKind(default_image_kind(accelerator))


def image_facts(image: EndpointImage, instance: EndpointInstance) -> EndpointImageFacts | None:
    """Return the image in the catalog; `None` for the user's own image, and when there is none."""
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
    """Return problems that do not depend on the instance type: a retired version, keys that exclude each other."""
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
            f"the image with transformers {version} is retired: AWS no longer patches its PyTorch and CUDA",
            f"use the image with transformers {successor}, or the vLLM image for a model that generates text",
        )


def _said_twice(image: EndpointImage) -> Iterator[Problem]:
    for name in ("kind", "version") if image.uri is not None else ():
        if getattr(image, name) is not None:
            yield image.wrong(
                name,
                Code.CONTRADICTION,
                f"set only one of `uri` and `{name}`: the URI already determines kind and version",
                f"remove `{name}` or `uri`",
            )
    if image.uri is None and image.cuda is not None:
        yield image.wrong(
            "cuda",
            Code.CONTRADICTION,
            "`cuda` has no effect on an image of AWS: its CUDA version is known",
            "remove `cuda`: it is only for your own image",
        )


def _none_there(image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
    kind, accelerator = image_kind(image, instance), accelerator_of(instance)
    if kind is None or accelerator is None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("image",),
            message=f"no image of AWS is known to run on {instance.name}",
            remedy=f"choose another instance type, {_OWN}",
        )
        return
    versions = endpoint_images(kind, accelerator)
    if not versions:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("image",),
            message=f"{image_title(kind)} does not run on {instance.name}, which has {_words(accelerator)}",
            value=kind.value,
            allowed=default_image_kind(accelerator),
            remedy=f"write {default_image_kind(accelerator)}, or choose an instance type with GPUs such as "
            "ml.g5.xlarge",
        )
    elif not check_image_alone(image):  # It reports the successor.
        yield image.wrong(
            "version",
            SageMakerCode.ENDPOINT_IMAGE,
            f"unknown version of the {image_title(kind)} image for instances with {_words(accelerator)}",
            "remove it for the newest version, or set the image's URI",
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
            remedy=f"choose an instance type of these families, {_OWN}",
        )
    if instance.architecture != _ARCHITECTURE:
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE,
            path=("instance_type",),
            message=f"AWS builds its images for x86 processors, and {instance.name} has Arm processors",
            value=instance.name,
            remedy=f"choose an x86 instance type such as ml.m7i.xlarge, {_OWN}",
        )


def _in_region(facts: EndpointImageFacts, region: str | None) -> Iterator[Problem]:
    if region is None or is_unresolved(region):
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE_REGION,
            path=("image",),
            message="the account of AWS's images differs by region, and the stack's region is a CDK token",
            remedy="give the stack an `env` with its region, or set the image's URI",
        )
    elif region not in image_regions_of(facts):
        yield Problem(
            code=SageMakerCode.ENDPOINT_IMAGE_REGION,
            path=("image",),
            message=f"AWS does not offer the {image_title(facts.kind)} image in {region}",
            value=facts.tag,
            allowed=", ".join(image_regions_of(facts)),
            remedy=f"deploy to one of these regions, or copy the image to Amazon ECR in {region} and set its URI",
        )


def _task(facts: EndpointImageFacts, model: EndpointModel) -> Iterator[Problem]:
    if model.task is not None and facts.kind != EndpointImageKind.HUGGING_FACE:
        yield model.wrong(
            "task",
            SageMakerCode.ENDPOINT_MODEL,
            f"`task` has no effect: {image_title(facts.kind)} generates text and has no tasks",
            "remove it, or use the image `hugging-face`, which runs pipelines of transformers",
        ).under("model")


def _own(image: EndpointImage, uri: str, region: str | None) -> Iterator[Problem]:
    if is_unresolved(uri):
        return
    found = _ECR.fullmatch(uri)
    known = region is not None and not is_unresolved(region)
    if found is None or (known and found["region"] != region):
        message = "this is not an image in Amazon ECR" if found is None else f"this image is in {found['region']}"
        yield image.wrong(
            "uri",
            SageMakerCode.ENDPOINT_IMAGE_REGION,
            f"{message}, and endpoints accept only images in a private ECR registry of their own region",
            "copy it to one: `docker buildx imagetools create -t <account>.dkr.ecr.<region>.amazonaws.com/… …`",
            allowed=f"<account>.dkr.ecr.{region or '<region>'}.amazonaws.com/<repository>:<tag>",
        )


def _words(accelerator: str) -> str:
    return {"cpu": "CPUs only", "gpu": "GPUs", "neuron": "Neuron devices"}[accelerator]


_CUDA = re.compile(r"\d+\.\d+")
_GPU = "gpu"


def cuda_of(image: EndpointImage, instance: EndpointInstance) -> str | None:
    """Return the CUDA version of `image`; `None` without GPUs, and when the user did not set it."""
    facts = image_facts(image, instance)
    return image.cuda if facts is None else facts.cuda


def ami_for(image: EndpointImage, instance: EndpointInstance) -> InferenceAmi | None:
    """Return the AMI with the oldest driver that fully supports the image's CUDA and boots on `instance`.

    `None` keeps SageMaker's own choice: without GPUs, for an unknown CUDA version, for a family that no source
    describes, and when the instance's default driver is new enough. On Neuron SageMaker's choice is kept, too:
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
    """Return what is wrong with the AMI `name` for `image` on `instance`; `None` is the AMI that llm-fleet chooses."""
    if image.cuda is not None and not is_unresolved(image.cuda) and not _CUDA.fullmatch(image.cuda):
        yield image.wrong(
            "cuda",
            SageMakerCode.ENDPOINT_AMI,
            "this is not a CUDA version",
            "write the image's CUDA, e.g. `'13.0'` for a tag with cu130",
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
            message="unknown AMI for endpoints",
            value=name,
            allowed=", ".join(inference_amis()),
            remedy="remove it: llm-fleet chooses an AMI that fits image and instance type",
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
        allowed=", ".join(fitting) or "none: remove it",
        remedy="remove it, or write an AMI for this family",
    )


def _for_image(ami: InferenceAmi, image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
    cuda = cuda_of(image, instance)
    if cuda is None or ami.cuda is None or is_unresolved(cuda) or _number(ami.cuda)[0] >= _number(cuda)[0]:
        return  # within a major version newer programs run on older drivers (NVIDIA: minor version compatibility)
    fitting = [each.name for each in _booting(instance) if each.cuda and _number(each.cuda) >= _number(cuda)]
    yield Problem(
        code=SageMakerCode.ENDPOINT_AMI,
        path=("inference_ami",),
        message=f"the image needs CUDA {cuda}, and driver {ami.driver} of this AMI supports CUDA {ami.cuda}. The "
        "container would exit at its start, without a line in its log",
        value=ami.name,
        allowed=", ".join(fitting),
        remedy="remove it, or use an image that was built for an older CUDA version",
    )


def _booting(instance: EndpointInstance) -> list[InferenceAmi]:
    return [ami for ami in inference_amis().values() if instance.family in ami.families]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
