"""How the container of a model server is started, and which repository its image is pulled from."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk

from llm_fleet.catalog.model_server import (
    execute_model_seconds,
    image_account,
    keep_alive_margin_seconds,
    model_servers,
    requests_per_slot,
    server_settings,
    termination_seconds,
)
from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.inference.model import CONTAINER_PATH
from llm_fleet.rules.inference.server import cores_of
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.model_shape import Model, ModelSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """One container of a model server, as its task definition tells it."""

    image: str
    entry_point: tuple[str, ...]
    """In place of the image's own script: that of TGI's image in ECR and AWS's do not hand SIGTERM on, so that every
    answer would be cut off when a task stops, and Hugging Face's of vLLM takes arguments apart at blanks."""
    command: tuple[str, ...]
    environment: Mapping[str, str]
    capabilities: tuple[str, ...]
    """Linux capabilities beyond Docker's default ones."""
    api_key_variable: str
    """The environment variable whose value clients must have as bearer token; its value comes from a secret."""
    hub_token_variable: str
    """The environment variable with the Hub's token; its value comes from a secret."""
    port: int
    health_path: str
    metrics_path: str
    termination_seconds: int
    """How long it takes to end at most, once it is asked to."""
    ecr_account: str | None
    """Whose private registry the image is in; `None` for one that needs no credentials, or an image of one's own."""


def server_process(
    server: ModelServer,
    *,
    instance: NeuronInstance,
    model: Model,
    model_path: str,
    served_name: str,
    region: str,
    dns_suffix: str = "amazonaws.com",
    idle_timeout_seconds: int | None = None,
    load_seconds: int | None = None,
    managed: bool = False,
) -> ServerProcess:
    """Return how `server` is started on `instance` for the model that its container sees at `model_path`.

    `model_path`: a path in the container, or an id of the Hub. `served_name`: what clients write as `model`; TGI takes
    any. `region`: may be a token only where the image is the same in every region. `idle_timeout_seconds`: how long the
    load balancer keeps a connection on which nothing happens; the server must not end it first, or a request now and
    then meets a connection that is gone, and its client a 502. Default: nobody told; the server's own. `load_seconds`:
    how long the server may take to load and compile; it must not give up itself before that. Default: its own limits.
    """
    facts = model_servers()[server.kind]
    account = image_account(facts.accounts, region) if facts.accounts and server.image is None else None
    words = (
        _tgi(server, instance, model, model_path)
        if server.kind is ServerKind.TGI
        else _vllm(server, instance, model_path, served_name)
    )
    entry_point, command, environment = words
    image = server.image or f"{facts.repository}:{facts.tag}".format(account=account, region=region, suffix=dns_suffix)
    return ServerProcess(
        image=image,
        entry_point=entry_point,
        command=command,
        environment={
            **_hub(model),
            **environment,
            **_shared_memory(server, managed=managed),
            **_neuron(server, model, instance, image),
            **_timeouts(server, load_seconds),
            **_keep_alive(server, idle_timeout_seconds),
            **_variables(server),
            **server.environment,
        },
        capabilities=tuple(server.capabilities),
        api_key_variable="API_KEY" if server.kind is ServerKind.TGI else "VLLM_API_KEY",
        hub_token_variable="HF_TOKEN",  # noqa: S106 - a name
        port=facts.port,
        health_path=facts.health_path,
        metrics_path=facts.metrics_path,
        termination_seconds=_termination_seconds(server),
        ecr_account=account,
    )


_DIGITS = 16
_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")
_Words = tuple[tuple[str, ...], tuple[str, ...], Mapping[str, str]]
_VLLM_ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1"}
"""vLLM's own default reports to its makers, as TGI's does."""
_TGI_LOG_LEVEL = "info,text_generation_launcher=warn,text_generation_launcher[shard-manager]=info"
"""All but what the launcher says by itself at `info`: its arguments are there, and the API key is one of them. How far
the model is loaded stays."""


def _tgi(server: ModelServer, instance: NeuronInstance, model: Model, model_path: str) -> _Words:
    """Tell TGI all that its entry script would work out, so that it compiles and serves exactly these sizes.

    Left to itself the script takes the largest configuration that the Hub's cache has (text-generation-inference issue
    3299), and of a model that is there already it only compares.
    """
    longest = server.settings.get("max_input_tokens") or server.sequence_length // 2
    environment = {
        "MODEL_ID": model_path,
        "HOSTNAME": "0.0.0.0",  # noqa: S104 - else the launcher takes the container's name for what it listens at
        "PORT": str(model_servers()[server.kind].port),
        "HF_NUM_CORES": str(cores_of(server, instance)),
        "HF_AUTO_CAST_TYPE": "bf16",
        "MAX_BATCH_SIZE": str(server.batch_size),
        "MAX_TOTAL_TOKENS": str(server.sequence_length),
        "MAX_INPUT_TOKENS": str(longest),
        "MAX_BATCH_PREFILL_TOKENS": str(server.batch_size * longest),
        "MAX_CONCURRENT_REQUESTS": str(server.batch_size * requests_per_slot()),
        "GRACEFUL_TERMINATION_TIMEOUT": str(_termination_seconds(server)),
        "JSON_OUTPUT": "true",
        "LOG_LEVEL": _TGI_LOG_LEVEL,
        "USAGE_STATS": "off",
    }
    if model.revision is not None:
        environment["REVISION"] = model.revision
    return ("text-generation-launcher",), (), environment


def _vllm(server: ModelServer, instance: NeuronInstance, model_path: str, served_name: str) -> _Words:
    port = ("--port", str(model_servers()[server.kind].port))
    cores, batch, length = map(str, (cores_of(server, instance), server.batch_size, server.sequence_length))
    name = ("--served-model-name", served_name)
    if server.kind is ServerKind.HUGGING_FACE_VLLM:
        sizes = ("--tensor_parallel_size", cores, "--batch_size", batch, "--sequence_length", length)
        command = ("--model", model_path, *name, *port, *sizes)
        return ("optimum-cli", "neuron", "serve"), (*command, *_arguments(server)), _VLLM_ENVIRONMENT
    sizes = ("--tensor-parallel-size", cores, "--max-num-seqs", batch, "--max-model-len", length)
    own = _arguments(server)
    # Of the plugin for trn2 vLLM's defaults are kept: assumption: aws-vllm-neuron-prefill-by-default
    more = (*_blocks(server.batch_size, own), *own) if server.kind is ServerKind.AWS_VLLM else own
    return ("vllm", "serve"), (model_path, *name, *port, *sizes, *more), _VLLM_ENVIRONMENT


def _blocks(batch_size: int, own: tuple[str, ...]) -> tuple[str, ...]:
    """Return what NxD Inference asks of vLLM's cache: no prefix caching, vLLM's default, and one block for each place.

    Where the user's own words switch on prefix caching or chunked prefill, the number of blocks is another, and theirs
    to say. assumption: aws-vllm-needs-block-flags
    """
    said = {word.partition("=")[0].lstrip("-").replace("_", "-") for word in own if word.startswith("--")}
    words: list[str] = []
    if not said & {"enable-prefix-caching", "no-enable-prefix-caching"}:
        words.append("--no-enable-prefix-caching")
    if not said & {"enable-prefix-caching", "enable-chunked-prefill", "num-gpu-blocks-override"}:
        words += ["--num-gpu-blocks-override", str(batch_size)]
    return tuple(words)


def _shared_memory(server: ModelServer, *, managed: bool) -> Mapping[str, str]:
    """Return what makes vLLM's queue of requests fit into 64 MiB: it has ten pieces of this size.

    The queues of answers, one a worker, keep their size; they take only the pages that are written.
    assumption: managed-instances-shared-memory
    """
    if not managed or server.kind is ServerKind.TGI:
        return {}
    return {"VLLM_MQ_MAX_CHUNK_BYTES_MB": "4"}


def _neuron(server: ModelServer, model: Model, instance: NeuronInstance, image: str) -> Mapping[str, str]:
    """Return the variables of AWS's plugins.

    NxD Inference keeps what it compiles beside the model unless it is told another place, and the model is mounted
    read-only (assumption: aws-vllm-compiled-artifacts). The other plugin ends at start on a host without EFA, which a
    task on one host does not use (assumption: aws-vllm-neuron-needs-no-efa), and keeps what it compiles below
    `VLLM_CACHE_ROOT`, which is in the container's home unless it is set (assumption: aws-vllm-neuron-cache-root).
    """
    if server.kind is ServerKind.AWS_VLLM_NEURON:
        return {"NEURON_SKIP_EFA_AFFINITY": "1", "VLLM_CACHE_ROOT": f"{CONTAINER_PATH}/vllm"}
    if server.kind is not ServerKind.AWS_VLLM:
        return {}
    reported = [
        *(model.location, model.revision, image, instance.target),
        *(cores_of(server, instance), server.batch_size, server.sequence_length),
        *_arguments(server),
        *sorted(server.environment.items()),
    ]
    # The compiler's flags are variables: what was compiled with others is not to be loaded.
    # A CDK token is written by a number that another resource may change.
    text = _TOKEN.sub("", json.dumps(reported, default=str))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"NEURON_COMPILED_ARTIFACTS": f"{CONTAINER_PATH}/compiled/{digest[:_DIGITS]}"}


def _timeouts(server: ModelServer, load_seconds: int | None) -> Mapping[str, str]:
    """Return how long vLLM and its plugin for trn2 wait for a compilation; by default each gives up after 5 to 10 min.

    One execution may wait for a compilation too; a device that hangs is noticed no sooner, so it is not the whole time.
    assumption: aws-vllm-neuron-timeouts
    """
    if server.kind is not ServerKind.AWS_VLLM_NEURON or load_seconds is None:
        return {}
    whole = cdk.Token.as_string(load_seconds) if is_unresolved(load_seconds) else str(load_seconds)
    return {
        "VLLM_NEURON_COMPILATION_TIMEOUT": whole,
        "VLLM_ENGINE_READY_TIMEOUT_S": whole,
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": str(execute_model_seconds()),
    }


def _arguments(server: ModelServer) -> tuple[str, ...]:
    """Return the settings that are arguments, in the order of the catalog."""
    words: list[str] = []
    for name, setting in server_settings(server.kind).items():
        value = server.settings.get(name)
        if value is None or setting.argument is None or value is False:
            continue
        if setting.type == "list":
            words += map(str, value)
        elif value is True:
            words.append(setting.argument)
        else:
            words += (setting.argument, _text(value))
    return tuple(words)


def _variables(server: ModelServer) -> dict[str, str]:
    """Return the settings that are environment variables."""
    known = server_settings(server.kind)
    given = {name: value for name, value in server.settings.items() if value is not None}
    return {variable: _text(value) for name, value in given.items() if (variable := known[name].variable)}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return (
        str(value) if isinstance(value, str | int | float) else json.dumps(value, separators=(",", ":"), default=dict)
    )


def _keep_alive(server: ModelServer, idle_timeout_seconds: int | None) -> dict[str, str]:
    """Make vLLM keep idle connections longer than its own 5 s (`vllm/envs.py`); TGI never ends one itself."""
    if server.kind is ServerKind.TGI or idle_timeout_seconds is None:
        return {}
    return {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(idle_timeout_seconds + keep_alive_margin_seconds())}


def _hub(model: Model) -> dict[str, str]:
    """Keep a server whose model is at hand from asking the Hub: it would wait for it in a network without a way out."""
    return {} if model.source is ModelSource.HUB else {"HF_HUB_OFFLINE": "1"}


def _termination_seconds(server: ModelServer) -> int:
    reported = server.settings.get("graceful_termination_seconds")
    return termination_seconds(server.kind) if reported is None else reported


_PRIVATE = re.compile(
    r"(?P<account>\d{12})\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)(?:[:@].*)?"
)


def repository_arn(image: str, *, partition: str) -> str | None:
    """Return the ARN of the private repository of ECR that `image` is in.

    `None` for an image elsewhere, public.ecr.aws included, which is pulled without credentials, and for a token, which
    tells nothing at synth.
    """
    found = None if is_unresolved(image) else _PRIVATE.fullmatch(image)
    if found is None:
        return None
    return f"arn:{partition}:ecr:{found['region']}:{found['account']}:repository/{found['repository']}"


def server_repository_arn(kind: ServerKind, process: ServerProcess, stack: cdk.Stack) -> str | None:
    """Return the ARN of the private repository that the image of a server of `kind` is in, for a task of `stack`.

    The catalog's image has tokens in its name, which `repository_arn` cannot read; its parts are known here.
    """
    if process.ecr_account is None:
        return repository_arn(process.image, partition=stack.partition)
    repository = model_servers()[kind].repository.partition("/")[2]
    return f"arn:{stack.partition}:ecr:{stack.region}:{process.ecr_account}:repository/{repository}"
