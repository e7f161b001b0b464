"""What an endpoint's instances boot from: its driver must know the CUDA that the image was built for."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import EndpointInstance, InferenceAmi, default_cuda, inference_amis
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_image import image_facts
from llm_fleet.rules.sagemaker.endpoint_instance import accelerator_of
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointImageLike
from llm_fleet.rules.tokens import is_unresolved

_CUDA = re.compile(r"\d+\.\d+")
_GPU = "gpu"


def cuda_of(image: EndpointImageLike, instance: EndpointInstance) -> str | None:
    """Return the CUDA that `image` was built for; `None` without GPUs, and where nobody told."""
    facts = image_facts(image, instance)
    return image.cuda if facts is None else facts.cuda


def ami_for(image: EndpointImageLike, instance: EndpointInstance) -> InferenceAmi | None:
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


def check_ami(name: str | None, image: EndpointImageLike, instance: EndpointInstance) -> list[Problem]:
    """Return what is wrong with the AMI `name` for `image` on `instance`; `None` is the one that is chosen."""
    of_cuda = [*_own_cuda(image)]
    if name is None or is_unresolved(name) or of_cuda:
        return of_cuda
    ami = inference_amis().get(name)
    if ami is None:
        return [_unknown(name)]
    return [*_on_instance(ami, instance), *_for_image(ami, image, instance)]


def _own_cuda(image: EndpointImageLike) -> Iterator[Problem]:
    if image.cuda is not None and not is_unresolved(image.cuda) and not _CUDA.fullmatch(image.cuda):
        yield Problem(
            code=SageMakerCode.ENDPOINT_AMI,
            path=("image", "cuda"),
            message="this is no version of CUDA",
            value=image.cuda,
            allowed="such as 12.4",
            remedy="write the image's CUDA, e.g. '13.0' for a tag with cu130",
        )


def _unknown(name: str) -> Problem:
    return Problem(
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


def _for_image(ami: InferenceAmi, image: EndpointImageLike, instance: EndpointInstance) -> Iterator[Problem]:
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
