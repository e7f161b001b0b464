"""Rules of a model server: settings, environment variables, image, instance types and regions."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from llm_fleet.catalog.data_file import Limit
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
from llm_fleet.rules.inference.hosts import check_version
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.values import SECRET_REFERENCE, SECRET_VALUE, SECRET_VARIABLE, check_number, is_above
from llm_fleet.spec.model_server import ModelServer

# A registry's host and port, a path, and a tag, a digest or both: distribution/reference of the OCI.
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?/[a-z0-9._/-]+(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?")


_SOURCES = (
    "`tensor_parallel`, `batch_size`, `sequence_length` and `image` of the server, and `model`, `front` and `hosts` of "
    "the service"
)
"""Settings from which the variables and arguments of a server are set."""


def check_server(server: ModelServer) -> list[Problem]:
    """Return what is wrong with `server`, independent of instance type and region: sizes, settings, own image."""
    least = Limit(minimum=1)
    length = check_number(
        server.sequence_length, least, Code.SERVER_SIZE, "sequence_length", what="the sequence length"
    )
    sizes = [
        *check_number(server.batch_size, least, Code.SERVER_SIZE, "batch_size", what="the batch size"),
        *length,
    ]
    cores, what = server.tensor_parallel, "the tensor parallelism"
    return [
        *sizes,
        *check_number(cores, least, Code.TENSOR_PARALLEL, "tensor_parallel", what=what),
        *check_settings(server, sizes_are_known=not sizes),
        *check_environment(server),
        *_check_capabilities(server),
        *_check_image(server),
    ]


def check_server_on(server: ModelServer, instance_type: str, region: str | None) -> list[Problem]:
    """Return why `server` cannot run on `instance_type` in `region`.

    An instance type that does not exist or has no Neuron devices passes: another rule reports it.
    """
    instance = None if is_unresolved(instance_type) else neuron_instance(instance_type)
    on_instance = _check_instance(server, instance) if instance is not None else ()
    return [*on_instance, *_check_region(server, region)]


def cores_of(server: ModelServer, instance: NeuronInstance) -> int:
    """Return the number of NeuronCores that `server` uses on `instance`. Default: all."""
    return instance.cores if server.tensor_parallel is None else server.tensor_parallel


def _check_instance(server: ModelServer, instance: NeuronInstance) -> Iterator[Problem]:
    facts, cores, allowed = model_servers()[server.kind], server.tensor_parallel, instance.tensor_parallel
    if instance.family not in facts.families:
        others = [other.name for other in model_servers().values() if instance.family in other.families]
        yield server.wrong(
            "kind",
            Code.SERVER_FAMILY,
            f"{facts.title} does not support {instance.family}",
            f"use an instance type of {' or '.join(facts.families)}"
            + (f", or the server {' or '.join(map(repr, others))}" if others else ""),
            allowed=", ".join(others),
        )
    elif cores is not None and not is_unresolved(cores) and cores >= 1 and allowed and cores not in allowed:
        many = cores > instance.cores
        nearest = min(allowed, key=lambda each: (abs(each - cores), -each))
        larger = [each.name for each in sizes_of(instance.family) if cores in each.tensor_parallel]
        yield server.wrong(
            "tensor_parallel",
            Code.TENSOR_PARALLEL,
            f"`tensor_parallel` is more than the {instance.cores} NeuronCores of {instance.name}"
            if many
            else f"a model cannot be split over {cores} of the {instance.cores} NeuronCores of {instance.name}",
            f"write {instance.cores if many else nearest}"
            + (f", or use {larger[0]}" if larger and many else "")
            + "; the default is all cores",
            allowed=", ".join(map(str, allowed)),
        )


def _check_region(server: ModelServer, region: str | None) -> Iterator[Problem]:
    table = model_servers()[server.kind].accounts
    if server.image is not None or table is None or region is None or region not in regions():
        return  # an unknown region, or a CDK token
    if not image_account(table, region):
        yield server.wrong(
            "kind",
            Code.SERVER_REGION,
            f"AWS does not offer the image of {model_servers()[server.kind].title} in {region}",
            "copy the image to your own ECR repository and set `image` to it, "
            f"with runtime_version: {model_servers()[server.kind].runtime}; or use one of the allowed regions",
            allowed=", ".join(image_regions(table)),
        )


def _check_capabilities(server: ModelServer) -> Iterator[Problem]:
    given, allowed = server.capabilities, task_limits().capabilities
    for index, name in enumerate(given):
        field, bare = ("capabilities", index), str(name).upper().removeprefix("CAP_")
        if is_unresolved(name):
            continue
        if name in given[:index]:
            yield server.wrong(field, Code.SERVER_CAPABILITY, "this capability is listed twice", "write it once")
        elif bare == "ALL":
            yield server.wrong(
                field,
                Code.SERVER_CAPABILITY,
                "ALL would give the server root permissions on its host",
                "write each capability that the server needs, e.g. IPC_LOCK",
                allowed=", ".join(allowed),
            )
        elif name not in allowed:
            yield server.wrong(
                field,
                Code.SERVER_CAPABILITY,
                "this is not a Linux capability that ECS supports",
                f"write {bare}" if bare in allowed else "write one of the allowed capabilities, or remove it",
                allowed=", ".join(allowed),
            )


def _check_image(server: ModelServer) -> Iterator[Problem]:
    facts, image, runtime = model_servers()[server.kind], server.image, server.runtime_version
    problems = [] if runtime is None or is_unresolved(runtime) else check_version(runtime, "runtime_version")
    yield from problems
    if image is not None and not is_unresolved(image) and not _IMAGE.fullmatch(image):
        yield server.wrong(
            "image",
            Code.SERVER_IMAGE,
            "this is not the URI of an image in a registry",
            f"write registry, repository and tag, e.g. `{_example(facts)}`",
        )
    if image is not None and runtime is None:
        yield server.wrong(
            "runtime_version",
            Code.SERVER_IMAGE,
            "`runtime_version` is required with `image`: the host driver depends on it",
            "write the version that `dpkg -l aws-neuronx-runtime-lib` shows in the image; "
            f"the default image has {facts.runtime}",
        )
    if image is None and runtime is not None and not is_unresolved(runtime) and not problems:
        yield server.wrong(
            "runtime_version",
            Code.SERVER_IMAGE,
            "`runtime_version` has no effect without `image`",
            f"set image, or remove runtime_version: the default image has {facts.runtime}",
        )


def _example(facts: ModelServerFacts) -> str:
    return f"{facts.repository}:{facts.tag}".format(account="<account>", region="<region>", suffix="amazonaws.com")


def check_settings(server: ModelServer, *, sizes_are_known: bool = True) -> list[Problem]:
    """Return problems of settings that are out of range, or contradict the sizes of `server`."""
    known = server_settings(server.kind)
    given = {name: value for name, value in server.settings.items() if not is_unresolved(value)}
    problems = [problem for name, value in given.items() for problem in _check_value(known[name], value)]
    return problems or ([*_check_tokens(server)] if sizes_are_known else [])


def _check_value(setting: ServerSetting, value: Any) -> Iterator[Problem]:
    if setting.type == "list":
        yield from _check_words(setting, value)
        return
    bounds = Limit(minimum=_whole(setting.minimum), maximum=_whole(setting.maximum))
    if setting.type in ("integer", "number") and not bounds.holds(value):
        nearest = setting.minimum if setting.minimum is not None and value < setting.minimum else setting.maximum
        yield Problem(
            code=Code.SERVER_SETTING,
            message=f"`{setting.name}` is outside the range that the server accepts",
            remedy=f"write {_whole(nearest)}, or another number in the range",
            path=(setting.name,),
            value=value,
            allowed=bounds.range,
        )


def _check_words(setting: ServerSetting, words: Sequence[Any]) -> Iterator[Problem]:
    """Check that no argument repeats one that the service sets. Values are not shown: some are secrets."""
    names = [str(word).partition("=")[0] for word in words]
    own = [name for name in names if name.lower().replace("_", "-") in own_arguments()]
    if own:
        yield Problem(
            code=Code.SERVER_SETTING,
            message="llm-fleet sets these arguments of the server itself",
            remedy=f"remove them: llm-fleet sets them from {_SOURCES}",
            path=(setting.name,),
            value=", ".join(own),
        )


def _check_tokens(server: ModelServer) -> Iterator[Problem]:
    """Check the combination of TGI's prompt, total and prefill tokens, as its router does when it starts."""
    total, prompt = server.sequence_length, server.settings.get("max_input_tokens")
    prefill = server.settings.get("max_batch_prefill_tokens")
    known = isinstance(prompt, int) and not is_unresolved(prompt)
    longest = prompt if isinstance(prompt, int) and known else total // 2
    if known and not is_unresolved(total) and longest >= total:
        yield server.wrong(
            "max_input_tokens",
            Code.SERVER_SETTING,
            f"`max_input_tokens` must be less than `sequence_length`, which is {total}",
            f"write less than {total}; the default is half of it",
        )
    elif is_above(longest, prefill):
        yield server.wrong(
            "max_batch_prefill_tokens",
            Code.SERVER_SETTING,
            f"`max_batch_prefill_tokens` must be at least the maximum of a prompt, {longest} tokens",
            f"write at least {longest}",
        )


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_environment(server: ModelServer) -> Iterator[Problem]:
    """Return what is wrong with the user's environment variables: invalid names, reserved ones, secrets."""
    for name, value in server.environment.items():
        if not is_unresolved(name):
            yield from _variable(server, name, value)


def _variable(server: ModelServer, name: str, value: str) -> Iterator[Problem]:
    field = ("environment", name)
    settings = [key for key, setting in server_settings(server.kind).items() if setting.variable == name]
    if not _NAME.fullmatch(name):
        yield server.wrong(
            field,
            Code.SERVER_ENVIRONMENT,
            "this is not a valid name of an environment variable",
            "write letters, digits and underscores, with no digit first",
            allowed="letters, digits and underscores",
            value=None,
        )
    elif name in own_variables(server.kind):
        yield server.wrong(
            field,
            Code.SERVER_ENVIRONMENT,
            "llm-fleet sets this variable itself",
            f"remove it, and write the setting `{settings[0]}` of the server"
            if settings
            else f"remove it: llm-fleet sets it from {_SOURCES}",
            value=None,
        )
    elif _is_secret(name, value):
        yield server.wrong(
            field,
            Code.SERVER_SECRET,
            "this looks like a secret, and anyone with read access to the template or the task definition could read "
            "it",
            "store it in Secrets Manager, and set token_secret_arn of the model for the Hub token, or the API key of "
            "the front; add credentials of other services to your own image",
            value=None,
        )


def _is_secret(name: str, value: str) -> bool:
    if SECRET_REFERENCE.search(value):
        return True
    if is_unresolved(value):
        return False
    return bool(value) and bool(SECRET_VARIABLE.search(name.upper()) or SECRET_VALUE.search(value))
