"""What a model server can be told, and on which instances and where it runs."""

import re

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_server import ModelServerFacts, image_account, image_regions, model_servers
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, sizes_of
from llm_fleet.catalog.service import task_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_attributes, check_form, passing_over, wrong_names
from llm_fleet.rules.inference.part_forms import KIND, SERVER
from llm_fleet.rules.inference.protocols import ServerLike
from llm_fleet.rules.inference.server_environment import check_environment
from llm_fleet.rules.inference.server_setting import check_settings
from llm_fleet.rules.inference.version import check_version
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_AT_LEAST_ONE = Limit(minimum=1, maximum=None)
# A registry's host and port, a path, and a tag, a digest or both: distribution/reference of the OCI.
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?/[a-z0-9._/-]+(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?")


def check_server(server: ServerLike) -> list[Problem]:
    """Return what is wrong with `server` wherever it runs: sizes, settings, another image."""
    of_kind = check_form(server.kind, KIND, "kind")
    if of_kind:
        return of_kind  # What it takes is only known of a server that there is.
    of_forms = check_attributes(server, SERVER)
    server = passing_over(server, wrong_names(of_forms))
    sizes = [
        *check_number(server.batch_size, _AT_LEAST_ONE, Code.SERVER_SIZE, "batch_size", what="the batch size"),
        *check_number(
            server.sequence_length, _AT_LEAST_ONE, Code.SERVER_SIZE, "sequence_length", what="the sequence length"
        ),
    ]
    return [
        *of_forms,
        *sizes,
        *check_number(
            server.tensor_parallel,
            _AT_LEAST_ONE,
            Code.TENSOR_PARALLEL,
            "tensor_parallel",
            what="the tensor parallelism",
        ),
        *check_settings(server, sizes_are_known=not sizes),
        *check_environment(server),
        *_check_capabilities(server),
        *_check_image(server),
    ]


def check_server_on(server: ServerLike, instance_type: str, region: str | None) -> list[Problem]:
    """Return why `server` cannot run on `instance_type` in `region`.

    An instance type that does not exist or has no Neuron devices is not told here: it is no fault of the server's.
    """
    problems = _check_region(server, region)
    if is_unresolved(instance_type):
        return problems
    facts = model_servers()[server.kind]
    instance = neuron_instance(instance_type)
    if instance is None:
        return problems
    if instance.family not in facts.families:
        return [_wrong_family(facts, instance), *problems]
    return [*_check_tensor_parallel(server, instance), *problems]


def cores_of(server: ServerLike, instance: NeuronInstance) -> int:
    """Return over how many NeuronCores `server` spreads a model on `instance`: all, unless told otherwise."""
    return instance.cores if server.tensor_parallel is None else server.tensor_parallel


def _check_tensor_parallel(server: ServerLike, instance: NeuronInstance) -> list[Problem]:
    cores = server.tensor_parallel
    allowed = instance.tensor_parallel
    if cores is None or is_unresolved(cores) or type(cores) is not int or cores < 1 or not allowed or cores in allowed:
        return []
    many = cores > instance.cores
    nearest = min(allowed, key=lambda each: (abs(each - cores), -each))
    larger = [each.name for each in sizes_of(instance.family) if cores in each.tensor_parallel]
    return [
        Problem(
            code=Code.TENSOR_PARALLEL,
            message=f"{instance.name} has {instance.cores} NeuronCores"
            if many
            else f"a model cannot be spread over {cores} of the {instance.cores} NeuronCores of {instance.name}",
            remedy=f"write {instance.cores if many else nearest}"
            + (f", or take {larger[0]}" if larger and many else "")
            + "; left out, it is all cores",
            path=("tensor_parallel",),
            value=cores,
            allowed=", ".join(map(str, allowed)),
        )
    ]


def _wrong_family(facts: ModelServerFacts, instance: NeuronInstance) -> Problem:
    others = [other.name for other in model_servers().values() if instance.family in other.families]
    return Problem(
        code=Code.SERVER_FAMILY,
        message=f"{facts.title} does not run on {instance.family}",
        remedy=f"take an instance of {' or '.join(facts.families)}"
        + (f", or the server {' or '.join(map(repr, others))}" if others else ""),
        path=("kind",),
        value=str(facts.name),
        allowed=", ".join(others),
    )


def _check_region(server: ServerLike, region: str | None) -> list[Problem]:
    table = model_servers()[server.kind].accounts
    if server.image is not None or table is None or region is None or region not in regions():
        return []  # a region that is a token, or none at all, is in no table
    if image_account(table, region):
        return []
    return [
        Problem(
            code=Code.SERVER_REGION,
            message=f"the image of {model_servers()[server.kind].title} is not offered in {region}",
            remedy="copy the image into a repository of your own and name it as image, "
            f"with runtime_version: {model_servers()[server.kind].runtime}; or take one of the regions allowed",
            path=("kind",),
            value=str(server.kind),
            allowed=", ".join(image_regions(table)),
        )
    ]


def _check_capabilities(server: ServerLike) -> list[Problem]:
    given, allowed = server.capabilities, task_limits().capabilities
    if not isinstance(given, tuple | list):
        return []  # reported by its form
    return [
        _wrong_capability(index, name, again=name in given[:index])
        for index, name in enumerate(given)
        if not is_unresolved(name) and (name not in allowed or name in given[:index])
    ]


def _wrong_capability(index: int, name: object, *, again: bool) -> Problem:
    allowed = task_limits().capabilities
    bare = str(name).upper().removeprefix("CAP_")
    path, listed = ("capabilities", index), ", ".join(allowed)
    if again:
        return Problem(
            code=Code.SERVER_CAPABILITY,
            message="this capability is in the list twice",
            remedy="write it once",
            path=path,
            value=name,
        )
    if bare == "ALL":
        return Problem(
            code=Code.SERVER_CAPABILITY,
            message="ALL makes the server root on its host",
            remedy="write each capability that the server needs, e.g. IPC_LOCK",
            path=path,
            value=name,
            allowed=listed,
        )
    return Problem(
        code=Code.SERVER_CAPABILITY,
        message="this is not a Linux capability that ECS adds to a container",
        remedy=f"write {bare}" if bare in allowed else "write one of those allowed, or leave it out",
        path=path,
        value=name,
        allowed=listed,
    )


def _check_image(server: ServerLike) -> list[Problem]:
    problems: list[Problem] = []
    facts = model_servers()[server.kind]
    if server.runtime_version is not None and not is_unresolved(server.runtime_version):
        problems += check_version(server.runtime_version, "runtime_version")
    if server.image is None:
        return problems or _runtime_alone(server, facts)
    if not is_unresolved(server.image) and not _IMAGE.fullmatch(server.image):
        problems.append(
            Problem(
                code=Code.SERVER_IMAGE,
                message="this is no name of an image in a registry",
                remedy=f"write registry, repository and tag, e.g. '{_example(facts)}'",
                path=("image",),
                value=server.image,
            )
        )
    if server.runtime_version is None:
        problems.append(
            Problem(
                code=Code.SERVER_IMAGE,
                message="nobody can tell which host driver this image needs",
                remedy="say what `dpkg -l aws-neuronx-runtime-lib` shows inside it, as runtime_version; "
                f"the catalog's image has {facts.runtime}",
                path=("runtime_version",),
            )
        )
    return problems


def _example(facts: ModelServerFacts) -> str:
    return f"{facts.repository}:{facts.tag}".format(account="<account>", region="<region>", suffix="amazonaws.com")


def _runtime_alone(server: ServerLike, facts: ModelServerFacts) -> list[Problem]:
    if server.runtime_version is None or is_unresolved(server.runtime_version):
        return []
    return [
        Problem(
            code=Code.SERVER_IMAGE,
            message="a runtime is told without an image of your own",
            remedy=f"name the image, or leave runtime_version out: the catalog's image has {facts.runtime}",
            path=("runtime_version",),
            value=server.runtime_version,
        )
    ]
