"""Settings of vLLM, by Hugging Face's command and by its own, and the values that they refuse.

From optimum/commands/neuron/serve.py of huggingface/optimum-neuron and vllm/entrypoints/openai/cli_args.py of
vllm-project/vllm. vLLM has hundreds of arguments; only those that a service uses are supported, others are
refused by name.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet_local.serving.servers.command_words import SettingRefused, read_words

_PROGRAMS = {"hugging-face-vllm": ("optimum-cli", "neuron", "serve"), "aws-vllm": ("vllm", "serve")}
_PASSED_ON = (
    *("chat_template", "tool_call_parser", "additional_config", "override_neuron_config", "dtype", "tokenizer"),
    *("api_key", "root_path", "max_log_len", "uvicorn_log_level", "block_size", "num_gpu_blocks_override", "seed"),
    *("reasoning_parser", "load_format", "safetensors_load_strategy", "revision", "response_role", "device"),
)
_FLAGS = (
    *("enable_chunked_prefill", "no_enable_chunked_prefill"),
    *("trust_remote_code", "enable_auto_tool_choice", "enable_prefix_caching", "no_enable_prefix_caching"),
    *("disable_log_requests", "disable_log_stats", "disable_uvicorn_access_log", "enable_request_id_headers"),
)
_OWN = {
    "hugging-face-vllm": ("tensor_parallel_size", "batch_size", "sequence_length", "task", "model"),
    "aws-vllm": ("tensor_parallel_size", "max_num_seqs", "max_model_len", "model"),
}
_READ = ("VLLM_", "HF_", "HUGGING_FACE_", "HUGGINGFACE_", "NEURON_", "AWS_", "ECS_", "OMP_", "TRANSFORMERS_")
_DEFAULT_PORTS = {"hugging-face-vllm": 8080, "aws-vllm": 8000}
_U16 = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """The settings of the stand-in."""

    model: str
    served_name: str
    port: int
    batch_size: int
    sequence_length: int
    api_key: str | None


def vllm_settings(kind: str, command: Sequence[str], environment: Mapping[str, str]) -> VllmSettings:
    """Parse the container's command and environment. Raises `SettingRefused`.

    `kind`: `hugging-face-vllm`, `aws-vllm` (NxD Inference) or `aws-vllm-neuron` (AWS's later plugin).
    """
    plugin, kind = kind, "aws-vllm" if kind == "aws-vllm-neuron" else kind
    program = _PROGRAMS[kind]
    words = list(command)
    if tuple(words[: len(program)]) != program:
        raise SettingRefused(f"the image's program is {' '.join(program)}, not {' '.join(words[: len(program)])}")
    del words[: len(program)]
    if kind == "aws-vllm" and words and not words[0].startswith("-"):
        words[:1] = ["--model", words[0]]
    flags = (*_FLAGS, "allow_non_cached_model") if kind == "hugging-face-vllm" else _FLAGS
    given = read_words(words, valued=(*_OWN[kind], "served_model_name", "port", *_PASSED_ON), flags=flags)
    unread = [name for name in environment if not name.startswith(_READ)]
    if unread:
        raise SettingRefused(f"vLLM does not read {', '.join(unread)} (the real server ignores it)")
    settings = _checked(kind, given, environment)
    if plugin == "aws-vllm":
        _check_nxd(given, environment, settings)
    if plugin == "aws-vllm-neuron" and environment.get("NEURON_SKIP_EFA_AFFINITY") != "1":
        # Source: document aws-neuron-sdk deploy/environments/quickstart-deploy-dlc.rst (Neuron 2.32): without EFA on
        # the host, which the ECS Neuron AMI does not install, the server fails to start.
        raise SettingRefused("no EFA device on this host: NEURON_SKIP_EFA_AFFINITY=1 is not set")
    return settings


def _check_nxd(given: Mapping[str, str], environment: Mapping[str, str], settings: VllmSettings) -> None:
    """Refuse what the plugin with NxD Inference ends for, or fails under load with.

    Source: document vllm-project/vllm-neuron vllm_neuron/platform.py, check_and_update_config (2025-11)
    Source: document aws-neuron/aws-neuron-sdk vllm-user-guide-v1.rst, known issues 2 (Neuron 2.29)
    Source: document vllm-project/vllm-neuron worker/neuronx_distributed_model_loader.py (2025-11)
    """
    cached = given.get("no_enable_prefix_caching") is None
    if cached and "block_size" not in given:
        raise SettingRefused("AssertionError: When prefix caching is enabled, block_size must be set.")
    blocks = given.get("num_gpu_blocks_override")
    if not cached and "enable_chunked_prefill" not in given and blocks != str(settings.batch_size):
        raise SettingRefused(
            f"num_gpu_blocks_override is {blocks}: without prefix caching and chunked prefill it must be exactly "
            f"max_num_seqs, {settings.batch_size}, or requests end in out-of-bounds errors"
        )
    if settings.model.startswith("/") and not environment.get("NEURON_COMPILED_ARTIFACTS"):
        raise SettingRefused(f"OSError: [Errno 30] Read-only file system: '{settings.model}/neuron-compiled-artifacts'")


def _checked(kind: str, given: Mapping[str, str], environment: Mapping[str, str]) -> VllmSettings:
    """Return the settings, or refuse what is missing or 0.

    Source: code huggingface/optimum-neuron, optimum/commands/neuron/serve.py (2026-08): a model is required
    Source: emulation, no compiled model is here to read the other values from
    Source: assumption model-servers-as-in-their-sources
    """
    if "model" not in given:
        raise SettingRefused("error: the following arguments are required: --model")
    batch, length = (
        ("batch_size", "sequence_length") if "batch_size" in _OWN[kind] else ("max_num_seqs", "max_model_len")
    )
    for name in (batch, length, "tensor_parallel_size"):
        if name not in given:
            raise SettingRefused(f"--{name} is not given, and there is no compiled model here to read it from")
        if _count(name, given[name]) == 0:
            raise SettingRefused(f"{name} must be greater than 0")
    return VllmSettings(
        model=given["model"],
        served_name=given.get("served_model_name", given["model"]),
        port=_count("port", given.get("port", str(_DEFAULT_PORTS[kind]))),
        batch_size=int(given[batch]),
        sequence_length=int(given[length]),
        api_key=given.get("api_key", environment.get("VLLM_API_KEY")),
    )


def _count(name: str, text: str) -> int:
    """Read a whole number, in the words of the parser of arguments where it is none.

    Source: code CPython 3.11, argparse: an argument of the type int
    Source: assumption model-servers-as-in-their-sources
    """
    if not text.isdecimal() or (name == "port" and int(text) > _U16):
        raise SettingRefused(f"error: argument --{name}: invalid int value: '{text}'")
    return int(text)
