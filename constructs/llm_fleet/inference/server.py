"""Container settings of a model server, and the ECR repository of its image."""

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
    """Settings of a model server's container in its task definition."""

    image: str
    entry_point: tuple[str, ...]
    """Replaces the image's entry point: those of TGI's image in ECR and of AWS's images do not forward SIGTERM, so that
    all answers would be cut off when a task stops, and that of Hugging Face's vLLM splits arguments at spaces."""
    command: tuple[str, ...]
    environment: Mapping[str, str]
    capabilities: tuple[str, ...]
    """Linux capabilities in addition to Docker's defaults."""
    api_key_variable: str
    """The environment variable with the bearer token of clients; its value comes from a secret."""
    hub_token_variable: str
    """The environment variable with the Hub's token; its value comes from a secret."""
    port: int
    health_path: str
    metrics_path: str
    termination_seconds: int
    """Maximum seconds from SIGTERM to its exit."""
    ecr_account: str | None
    """Account of the image's private registry; `None` for one without credentials, or a user's own image."""


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
    """Return the container settings of `server` on `instance` for the model at `model_path`.

    `model_path`: a path in the container, or an id on the Hub. `served_name`: value of `model` in requests; TGI accepts
    any. `region`: may be a token only if the image is the same in all regions. `idle_timeout_seconds`: idle timeout of
    the load balancer; the server must not close a connection earlier, or some requests use a closed connection and
    their clients get a 502. Default: the server's own. `load_seconds`: time for loading and compiling, in which the
    server must not time out. Default: its own limits.
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
"""Disables usage statistics, which vLLM and TGI send to their makers by default."""
_TGI_LOG_LEVEL = "info,text_generation_launcher=warn,text_generation_launcher[shard-manager]=info"
"""The log level hides the launcher's own lines at `info`, since they have its arguments with the API key. The progress
of loading the model is still logged."""


def _tgi(server: ModelServer, instance: NeuronInstance, model: Model, model_path: str) -> _Words:
    """Set everything that TGI's entry script would derive, so that it compiles and serves exactly these sizes.

    Without this, the script uses the largest configuration in the Hub's cache (text-generation-inference issue 3299),
    and only compares the sizes of a compiled model.
    """
    longest = server.settings.get("max_input_tokens") or server.sequence_length // 2
    environment = {
        "MODEL_ID": model_path,
        "HOSTNAME": "0.0.0.0",  # noqa: S104 - otherwise the launcher listens on the container's name
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
    # The plugin for trn2 uses vLLM's defaults: assumption: aws-vllm-neuron-prefill-by-default
    more = (*_blocks(server.batch_size, own), *own) if server.kind is ServerKind.AWS_VLLM else own
    return ("vllm", "serve"), (model_path, *name, *port, *sizes, *more), _VLLM_ENVIRONMENT


def _blocks(batch_size: int, own: tuple[str, ...]) -> tuple[str, ...]:
    """Return vLLM's cache arguments for NxD Inference: no prefix caching, and one block for each sequence.

    If the user's own arguments enable prefix caching or chunked prefill, the number of blocks differs, and the user
    must set it. assumption: aws-vllm-needs-block-flags
    """
    said = {word.partition("=")[0].lstrip("-").replace("_", "-") for word in own if word.startswith("--")}
    words: list[str] = []
    if not said & {"enable-prefix-caching", "no-enable-prefix-caching"}:
        words.append("--no-enable-prefix-caching")
    if not said & {"enable-prefix-caching", "enable-chunked-prefill", "num-gpu-blocks-override"}:
        words += ["--num-gpu-blocks-override", str(batch_size)]
    return tuple(words)


def _shared_memory(server: ModelServer, *, managed: bool) -> Mapping[str, str]:
    """Return the chunk size with which vLLM's request queue fits into 64 MiB: it has ten chunks.

    The response queues, one for each worker, keep their size; they use only pages that are written.
    assumption: managed-instances-shared-memory
    """
    if not managed or server.kind is ServerKind.TGI:
        return {}
    return {"VLLM_MQ_MAX_CHUNK_BYTES_MB": "4"}


def _neuron(server: ModelServer, model: Model, instance: NeuronInstance, image: str) -> Mapping[str, str]:
    """Return the variables of AWS's plugins.

    NxD Inference stores compiled artifacts next to the model by default, and the model is mounted read-only
    (assumption: aws-vllm-compiled-artifacts). The other plugin exits at start on a host without EFA, which a task on
    one host does not need (assumption: aws-vllm-neuron-needs-no-efa), and stores compiled artifacts under
    `VLLM_CACHE_ROOT`, by default in the container's home (assumption: aws-vllm-neuron-cache-root).
    """
    if server.kind is ServerKind.AWS_VLLM_NEURON:
        return {"NEURON_SKIP_EFA_AFFINITY": "1", "VLLM_CACHE_ROOT": f"{CONTAINER_PATH}/vllm"}
    if server.kind is not ServerKind.AWS_VLLM:
        return {}
    settings = [
        *(model.location, model.revision, image, instance.target),
        *(cores_of(server, instance), server.batch_size, server.sequence_length),
        *_arguments(server),
        *sorted(server.environment.items()),
    ]
    # The compiler's flags are variables, since artifacts compiled with other flags must not be loaded.
    # The text of a CDK token has a number that depends on other resources.
    text = _TOKEN.sub("", json.dumps(settings, default=str))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"NEURON_COMPILED_ARTIFACTS": f"{CONTAINER_PATH}/compiled/{digest[:_DIGITS]}"}


def _timeouts(server: ModelServer, load_seconds: int | None) -> Mapping[str, str]:
    """Return the timeouts of vLLM and its plugin for trn2 for a compilation; their defaults are 5 to 10 min.

    An execution can include a compilation. A hanging device is detected only after it, so it is shorter than the whole.
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
    """Return the settings that are environment variables, by name."""
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
    """Make vLLM keep idle connections longer than its default of 5 s (`vllm/envs.py`); TGI never closes one."""
    if server.kind is ServerKind.TGI or idle_timeout_seconds is None:
        return {}
    return {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(idle_timeout_seconds + keep_alive_margin_seconds())}


def _hub(model: Model) -> dict[str, str]:
    """Prevent requests to the Hub when the model is mounted: without internet access they would time out."""
    return {} if model.source is ModelSource.HUB else {"HF_HUB_OFFLINE": "1"}


def _termination_seconds(server: ModelServer) -> int:
    seconds = server.settings.get("graceful_termination_seconds")
    return termination_seconds(server.kind) if seconds is None else seconds


_PRIVATE = re.compile(
    r"(?P<account>\d{12})\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/(?P<repository>[^:@]+)(?:[:@].*)?"
)


def repository_arn(image: str, *, partition: str) -> str | None:
    """Return the ARN of the private ECR repository of `image`.

    `None` for an image elsewhere, public.ecr.aws included, which is pulled without credentials, and for a CDK token,
    whose value is unknown at synth.
    """
    found = None if is_unresolved(image) else _PRIVATE.fullmatch(image)
    if found is None:
        return None
    return f"arn:{partition}:ecr:{found['region']}:{found['account']}:repository/{found['repository']}"


def server_repository_arn(kind: ServerKind, process: ServerProcess, stack: cdk.Stack) -> str | None:
    """Return the ARN of the private ECR repository of the image of a server of `kind`, for a task of `stack`.

    The catalog's image has tokens in its name, which `repository_arn` cannot parse; here its parts are known.
    """
    if process.ecr_account is None:
        return repository_arn(process.image, partition=stack.partition)
    repository = model_servers()[kind].repository.partition("/")[2]
    return f"arn:{stack.partition}:ecr:{stack.region}:{process.ecr_account}:repository/{repository}"
