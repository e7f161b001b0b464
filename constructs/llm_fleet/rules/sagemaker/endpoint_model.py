"""The model of an endpoint: its location, whether it fits an instance, and its compilation settings for Neuron."""

import re
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import (
    EndpointInstance,
    endpoint_instance,
    endpoint_instance_names,
    endpoint_settings,
    family_of,
    image_title,
    retired_tarball,
)
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.rules.buckets import bucket_and_prefix, check_bucket_name, check_key_prefix
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.inference.fit import GIB, in_gib
from llm_fleet.rules.inference.model import check_one_place
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.sagemaker.endpoint_image import accelerator_of, image_facts, image_kind
from llm_fleet.spec.endpoint import (
    S3_SCHEME,
    TARBALL_ENDING,
    EndpointImage,
    EndpointImageKind,
    EndpointModel,
    EndpointModelSource,
    NeuronSettings,
)
from llm_fleet.spec.model_shape import known_shape

PLACES = ("hub_id", "s3_uri", "tarball_uri")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_HUB_PAGE = "https://huggingface.co/"
_REVISION = re.compile(r"\w[\w./-]*")


def check_endpoint_model(model: EndpointModel) -> list[Problem]:
    """Return what is wrong with `model` by itself. Without one single location, nothing else is checked."""
    of_place = _on_hub(model) if model.source is EndpointModelSource.HUB else _in_s3(model)
    wrong_place = check_one_place(model, PLACES, remedy=f"write {model.in_python()}")
    return wrong_place or [*of_place, *_revision(model), *_parameters(model)]


def check_tarball_age(model: EndpointModel, *, own_image: bool) -> Iterator[Problem]:
    """Return a problem for an archive that no image in the catalog can load; with `own_image` it passes."""
    version = None if own_image or is_unresolved(model.location) else retired_tarball(model.location)
    if version is not None:
        yield model.wrong(
            model.place,
            SageMakerCode.ENDPOINT_TARBALL,
            f"this archive contains a pickled object of transformers {version}, and only the retired image with that "
            "version can load it",
            "serve the same model from the Hub, EleutherAI/gpt-j-6b at the revision float16, or copy its files to S3 "
            "and write their prefix",
            value=model.location,
        )


def _on_hub(model: EndpointModel) -> Iterator[Problem]:
    location = model.location
    if is_unresolved(location) or _HUB_ID.fullmatch(location):
        return
    address = location.removeprefix(_HUB_PAGE).strip("/")
    if location.startswith(S3_SCHEME):
        remedy = "write it as a model in S3: a folder, or a .tar.gz archive"
    elif _HUB_ID.fullmatch(address):
        remedy = f"write `{address}`"
    else:
        remedy = "write owner/name, as the top of the model's page shows it"
    yield model.wrong(
        model.place,
        SageMakerCode.ENDPOINT_MODEL,
        "this is not the id of a model on the Hugging Face Hub",
        remedy,
        allowed="owner/name, e.g. EleutherAI/gpt-j-6b",
        value=location,
    )


def _in_s3(model: EndpointModel) -> Iterator[Problem]:
    location = model.location
    if is_unresolved(location) and not str(location).startswith(S3_SCHEME):
        return
    tarball = model.source is EndpointModelSource.TARBALL
    form = f"s3://bucket/path/model{TARBALL_ENDING}" if tarball else "s3://bucket/prefix/"
    fault = _fault(location, tarball=tarball)
    if fault is not None:
        message, remedy = fault
        yield model.wrong(
            model.place,
            SageMakerCode.ENDPOINT_MODEL,
            message,
            remedy or f"write {form}",
            allowed=form,
            value=location,
        )


def _fault(location: str, *, tarball: bool) -> tuple[str, str] | None:
    if not location.startswith(S3_SCHEME):
        return "this is not an S3 URI", ""
    bucket, key = bucket_and_prefix(location)
    longest = endpoint_settings().model_address
    if not longest.holds(len(location)):
        return f"the URI has {len(location)} characters, and SageMaker accepts at most {longest.maximum}", ""
    for problem in (*check_bucket_name(bucket), *check_key_prefix(key or None, SageMakerCode.ENDPOINT_MODEL)):
        return problem.message, ""
    if is_unresolved(key):
        return None
    if tarball and not key.endswith(TARBALL_ENDING):
        return (
            f"SageMaker unpacks only gzip-compressed tar archives, whose names must end in {TARBALL_ENDING}",
            "pack the files with `tar -czf model.tar.gz -C folder .`, or write the prefix of the unpacked files",
        )
    if not tarball and key.endswith(TARBALL_ENDING):
        return "this is an archive, not a folder of files", "write it as a tarball"
    return None


def _revision(model: EndpointModel) -> Iterator[Problem]:
    revision = model.revision
    if revision is None or is_unresolved(revision) or is_unresolved(model.source):
        return
    if model.source is not EndpointModelSource.HUB:
        yield model.wrong(
            "revision",
            SageMakerCode.ENDPOINT_MODEL,
            "`revision` has no effect: only models on the Hugging Face Hub have revisions",
            "remove it",
        )
    elif not _REVISION.fullmatch(revision):
        yield model.wrong(
            "revision",
            SageMakerCode.ENDPOINT_MODEL,
            "this is not a branch, tag or commit",
            "write a branch, a tag, or better a commit, which does not change",
        )


def _parameters(model: EndpointModel) -> Iterator[Problem]:
    parameters = model.parameters
    if parameters is None or is_unresolved(parameters) or (type(parameters) is int and parameters > 0):
        return
    yield model.wrong(
        "parameters",
        SageMakerCode.ENDPOINT_NUMBER,
        "`parameters` must be a whole number above 0",
        "write the number of the model's parameters, e.g. 6_050_000_000, or remove it",
    )


_MIB = 1024**2


def parameters_of(model: EndpointModel) -> int | None:
    """Return the number of parameters of `model`: as the user set it, or from its name; `None` when unknown."""
    if model.parameters is not None:
        return None if is_unresolved(model.parameters) else model.parameters
    if is_unresolved(model.location):
        return None
    shape = known_shape(model.location.removesuffix(TARBALL_ENDING))
    return shape.parameters if shape else None


def weights_bytes(model: EndpointModel) -> int | None:
    """Return the bytes of the weights in memory, two per parameter; `None` when unknown."""
    parameters = parameters_of(model)
    return None if parameters is None else parameters * endpoint_settings().bytes_per_parameter


def check_fit(model: EndpointModel, image: EndpointImage, instance: EndpointInstance) -> Iterator[Problem]:
    """Return a problem when the weights alone exceed the memory that a server fills; KV cache etc. is not counted."""
    weights, room = weights_bytes(model), _room(image, instance)
    if weights is None or room is None or weights <= room:
        return
    larger = _larger(weights, image, instance)
    yield Problem(
        code=SageMakerCode.ENDPOINT_FIT,
        path=("instance_type",),
        message=f"the weights need {in_gib(weights)} at two bytes per parameter, and {_who(image, instance)} can use "
        f"{in_gib(room)} of the memory of {instance.name}",
        value=instance.name,
        allowed=", ".join(larger),
        remedy="choose a larger instance type, or serve a smaller or quantized model and set its `parameters`",
    )


def _room(image: EndpointImage, instance: EndpointInstance) -> float | None:
    share = endpoint_settings().usable_share
    if instance.accelerator is None:
        return instance.memory_gib * GIB * share if instance.memory_gib else None
    if instance.accelerator_mib is None:
        return None
    # Pipelines of Hugging Face's toolkit use only the first GPU; the other servers spread a model over all.
    first_only = image_kind(image, instance) is EndpointImageKind.HUGGING_FACE
    return (1 if first_only else instance.accelerators) * instance.accelerator_mib * _MIB * share


def _larger(weights: int, image: EndpointImage, instance: EndpointInstance) -> list[str]:
    """Return the smallest fitting type of each family with the same accelerator, the instance's own family first."""
    names = [name for name in endpoint_instance_names() if _would_do(name, weights, image, instance)]
    smallest: dict[str, str] = {}
    for name in names:  # the API lists the sizes of a family in ascending order
        smallest.setdefault(family_of(name), name)
    own = [name for family, name in smallest.items() if family == instance.family]
    return [*own, *(name for name in smallest.values() if name not in own)][:4]


def _would_do(name: str, weights: int, image: EndpointImage, instance: EndpointInstance) -> bool:
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


def _who(image: EndpointImage, instance: EndpointInstance) -> str:
    kind = image_kind(image, instance)
    return "a server" if kind is None else image_title(kind)


def check_neuron(
    settings: NeuronSettings | None, image: EndpointImage, instance: EndpointInstance
) -> Iterator[Problem]:
    """Return why `settings` cannot be used on `instance`, at paths that begin with `neuron`."""
    facts, cores = neuron_instance(instance.ec2_name), settings.cores if settings else None
    if settings is None:
        return
    if facts is None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_NEURON,
            path=("neuron",),
            message=f"this setting has no effect: {instance.name} has no Neuron devices",
            remedy="remove it, or choose an instance type such as ml.inf2.xlarge",
        )
    elif image.uri is not None:
        yield Problem(
            code=SageMakerCode.ENDPOINT_NEURON,
            path=("neuron",),
            message="llm-fleet cannot apply `neuron` to your own image: it does not know the image's variables",
            remedy="remove it, and set the image's own variables in `environment`",
        )
    elif cores is not None and not is_unresolved(cores) and cores not in (facts.tensor_parallel or (cores,)):
        yield settings.wrong(
            "cores",
            SageMakerCode.ENDPOINT_NEURON,
            f"a model cannot be split over this number of the {facts.cores} NeuronCores of {instance.name}",
            "write one of the allowed numbers, or remove it to use all cores",
            allowed=", ".join(map(str, facts.tensor_parallel)),
        ).under("neuron")
