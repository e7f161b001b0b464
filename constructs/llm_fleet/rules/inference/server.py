"""What a model server can be told, its settings and variables, and on which instances and where it runs."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_server import (
    ModelServerFacts,
    ServerSetting,
    image_account,
    image_regions,
    model_servers,
    own_arguments,
    own_variables,
    server_settings,
)
from llm_fleet.catalog.network import regions
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, sizes_of
from llm_fleet.catalog.service import task_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.driver import check_version
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import SECRET_REFERENCE, SECRET_VALUE, SECRET_VARIABLE, check_number
from llm_fleet.spec.model_server import ModelServer

_AT_LEAST_ONE = Limit(minimum=1, maximum=None)
# A registry's host and port, a path, and a tag, a digest or both: distribution/reference of the OCI.
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?/[a-z0-9._/-]+(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?")


def check_server(server: ModelServer) -> list[Problem]:
    """Return what is wrong with `server` wherever it runs: sizes, settings, another image."""
    sizes = [
        *check_number(server.batch_size, _AT_LEAST_ONE, Code.SERVER_SIZE, "batch_size", what="the batch size"),
        *check_number(
            server.sequence_length, _AT_LEAST_ONE, Code.SERVER_SIZE, "sequence_length", what="the sequence length"
        ),
    ]
    return [
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


def check_server_on(server: ModelServer, instance_type: str, region: str | None) -> list[Problem]:
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


def cores_of(server: ModelServer, instance: NeuronInstance) -> int:
    """Return over how many NeuronCores `server` spreads a model on `instance`: all, unless told otherwise."""
    return instance.cores if server.tensor_parallel is None else server.tensor_parallel


def _check_tensor_parallel(server: ModelServer, instance: NeuronInstance) -> list[Problem]:
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


def _check_region(server: ModelServer, region: str | None) -> list[Problem]:
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


def _check_capabilities(server: ModelServer) -> list[Problem]:
    given, allowed = server.capabilities, task_limits().capabilities
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


def _check_image(server: ModelServer) -> list[Problem]:
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


def _runtime_alone(server: ModelServer, facts: ModelServerFacts) -> list[Problem]:
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


def check_settings(server: ModelServer, *, sizes_are_known: bool = True) -> list[Problem]:
    """Return which settings `server` does not take, and which contradict its sizes. Types are those of its fields."""
    known = server_settings(server.kind)
    told = {name: value for name, value in server.settings.items() if not is_unresolved(value)}
    problems = [problem for name, value in told.items() for problem in _check_value(known[name], value)]
    return problems or (_check_tokens(server) if sizes_are_known else [])


def _check_value(setting: ServerSetting, value: Any) -> list[Problem]:
    if setting.type == "list":
        return _check_words(setting, value)
    bounds = Limit(minimum=_whole(setting.minimum), maximum=_whole(setting.maximum))
    if setting.type not in ("integer", "number") or bounds.holds(value):
        return []
    nearest = setting.minimum if setting.minimum is not None and value < setting.minimum else setting.maximum
    return [
        Problem(
            code=Code.SERVER_SETTING,
            message=f"the server does not take this as {setting.name}",
            remedy=f"write {_whole(nearest)}, or another number in the range",
            path=(setting.name,),
            value=value,
            allowed=bounds.range,
        )
    ]


def _check_words(setting: ServerSetting, words: Sequence[Any]) -> list[Problem]:
    """Check that no word says what the service says itself. Their values are not repeated: some are secrets."""
    names = [str(word).partition("=")[0] for word in words]
    own = [name for name in names if name.lower().replace("_", "-") in own_arguments()]
    if not own:
        return []
    return [
        Problem(
            code=Code.SERVER_SETTING,
            message="the service tells its server this by itself, and what is told twice would not be what was checked",
            remedy="leave it out: sizes are tensor_parallel, batch_size and sequence_length, the name is the model's "
            "served_name, the API key is the front's and the Hub's token the model's",
            path=(setting.name,),
            value=", ".join(own),
        )
    ]


def _check_tokens(server: ModelServer) -> list[Problem]:
    """Check that prompt, answer and prefill of TGI go together, as its router does when it starts."""
    total, prompt = server.sequence_length, server.settings.get("max_input_tokens")
    prefill = server.settings.get("max_batch_prefill_tokens")
    problems: list[Problem] = []
    if isinstance(prompt, int) and not is_unresolved(prompt) and not is_unresolved(total) and prompt >= total:
        problems.append(
            Problem(
                code=Code.SERVER_SETTING,
                message=f"a prompt of {prompt} tokens leaves no room for an answer in a sequence of {total}",
                remedy=f"write less than {total}; left out, it is half of it",
                path=("max_input_tokens",),
                value=prompt,
            )
        )
    elif isinstance(prefill, int) and not is_unresolved(prefill):
        longest = prompt if isinstance(prompt, int) and not is_unresolved(prompt) else total // 2
        if not is_unresolved(longest) and prefill < longest:
            problems.append(
                Problem(
                    code=Code.SERVER_SETTING,
                    message=f"a prompt may have {longest} tokens, more than are read in one go",
                    remedy=f"write {longest} or more",
                    path=("max_batch_prefill_tokens",),
                    value=prefill,
                )
            )
    return problems


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_environment(server: ModelServer) -> list[Problem]:
    """Return what is wrong with the variables that `server` is given: names, texts, ours, and what looks secret."""
    return [problem for name, value in server.environment.items() for problem in _variable(server, name, value)]


def _variable(server: ModelServer, name: str, value: Any) -> Iterator[Problem]:
    if is_unresolved(name):
        return
    path = ("environment", name)
    if not _NAME.fullmatch(str(name)):
        yield Problem(
            code=Code.SERVER_ENVIRONMENT,
            path=path,
            message="this is no name of an environment variable",
            remedy="write letters, digits and underscores, with no digit first",
            allowed="letters, digits and underscores",
        )
    elif name in own_variables(server.kind):
        yield _ours(server, name)
    elif not isinstance(value, str):
        yield Problem(
            code=Code.SERVER_ENVIRONMENT,
            path=path,
            message=f"the value of a variable is a text, and this is of type {type(value).__name__}",
            remedy="write it in quotes",
            value=value,
            allowed="a text",
        )
    elif _is_secret(name, value):
        yield Problem(
            code=Code.SERVER_SECRET,
            path=path,
            message="this looks like a secret: everyone who may read the template or describe the task definition "
            "could read its text",
            remedy="keep it in Secrets Manager: the Hub's token is the model's token_secret_arn, the API key is the "
            "front's; a credential of another service belongs in an image of your own",
        )


def _is_secret(name: str, value: str) -> bool:
    if SECRET_REFERENCE.search(value):
        return True
    if is_unresolved(value):
        return False
    return bool(value) and bool(SECRET_VARIABLE.search(name.upper()) or SECRET_VALUE.search(value))


def _ours(server: ModelServer, name: str) -> Problem:
    settings = [key for key, setting in server_settings(server.kind).items() if setting.variable == name]
    return Problem(
        code=Code.SERVER_ENVIRONMENT,
        path=("environment", name),
        message="the service sets this variable itself",
        remedy=f"remove it, and write the setting `{settings[0]}` of the server"
        if settings
        else "remove it: sizes are tensor_parallel, batch_size and sequence_length, the API key is the front's and "
        "the Hub's token the model's; the others follow from model, image and hosts",
    )
