"""Whether the model finds room in the memory of one instance: each instance holds all of it."""

from collections.abc import Iterator

from llm_fleet.catalog.endpoint import (
    EndpointInstance,
    endpoint_instance,
    endpoint_instance_names,
    endpoint_settings,
    family_of,
    image_title,
)
from llm_fleet.rules.inference.memory import GIB, in_gib
from llm_fleet.rules.inference.model_shape import known_shape
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.endpoint_image import image_facts, image_kind
from llm_fleet.rules.sagemaker.endpoint_instance import accelerator_of
from llm_fleet.rules.sagemaker.endpoint_model import TARBALL_ENDING
from llm_fleet.rules.sagemaker.endpoint_protocols import EndpointImageLike, EndpointModelLike
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind
from llm_fleet.rules.tokens import is_unresolved

_MIB = 1024**2


def parameters_of(model: EndpointModelLike) -> int | None:
    """Return how many weights `model` has: as told, else by its name; `None` where nobody knows."""
    if model.parameters is not None:
        return None if is_unresolved(model.parameters) else model.parameters
    if is_unresolved(model.location):
        return None
    shape = known_shape(model.location.removesuffix(TARBALL_ENDING))
    return shape.parameters if shape else None


def weights_bytes(model: EndpointModelLike) -> int | None:
    """Return the bytes of the weights as servers hold them, two a parameter; `None` where nobody knows."""
    parameters = parameters_of(model)
    return None if parameters is None else parameters * endpoint_settings().bytes_per_parameter


def check_fit(model: EndpointModelLike, image: EndpointImageLike, instance: EndpointInstance) -> Iterator[Problem]:
    """Return a problem when the weights alone are more than a server may fill. What they need beside is not counted."""
    weights, room = weights_bytes(model), _room(image, instance)
    if weights is None or room is None or weights <= room:
        return
    larger = _larger(weights, image, instance)
    yield Problem(
        code=SageMakerCode.ENDPOINT_FIT,
        path=("instance_type",),
        message=f"the weights take {in_gib(weights)} at two bytes each, and of the memory of {instance.name} "
        f"{_who(image, instance)} fills up to {in_gib(room)}",
        value=instance.name,
        allowed=", ".join(larger),
        remedy="take a larger instance type, or serve a smaller or quantized model (then say its parameters)",
    )


def _room(image: EndpointImageLike, instance: EndpointInstance) -> float | None:
    share = endpoint_settings().usable_share
    if instance.accelerator is None:
        return instance.memory_gib * GIB * share if instance.memory_gib else None
    if instance.accelerator_mib is None:
        return None
    # transformers' pipelines of Hugging Face's toolkit stand on the first GPU; the others spread a model over all.
    first_only = image_kind(image, instance) is EndpointImageKind.HUGGING_FACE
    return (1 if first_only else instance.accelerators) * instance.accelerator_mib * _MIB * share


def _larger(weights: int, image: EndpointImageLike, instance: EndpointInstance) -> list[str]:
    """Return the smallest type of each family that would do on the same accelerator, its own family first."""
    names = [name for name in endpoint_instance_names() if _would_do(name, weights, image, instance)]
    smallest: dict[str, str] = {}
    for name in names:  # the API lists the sizes of a family in their order
        smallest.setdefault(family_of(name), name)
    own = [name for family, name in smallest.items() if family == instance.family]
    return [*own, *(name for name in smallest.values() if name not in own)][:4]


def _would_do(name: str, weights: int, image: EndpointImageLike, instance: EndpointInstance) -> bool:
    other = endpoint_instance(name)
    if (
        other is None
        or accelerator_of(other) != accelerator_of(instance)
        or other.architecture != instance.architecture
    ):
        return False
    room, facts = _room(image, other), image_facts(image, other)
    runs = facts is None or not facts.families or other.family in facts.families
    return runs and room is not None and room >= weights


def _who(image: EndpointImageLike, instance: EndpointInstance) -> str:
    kind = image_kind(image, instance)
    return "a server" if kind is None else image_title(kind)
