"""Settings of Text Generation Inference, and the values that its launcher and router refuse.

Arguments are environment variables too. Stricter than the real one in one point: a variable that nothing reads is
refused.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet_local.serving.servers.command_words import SettingRefused, read_words

_COUNTS = (
    *("validation_workers", "num_shard", "speculate", "max_concurrent_requests", "max_best_of", "max_stop_sequences"),
    *("max_top_n_tokens", "max_input_tokens", "max_input_length", "max_total_tokens", "max_batch_prefill_tokens"),
    *("max_batch_total_tokens", "max_waiting_tokens", "max_batch_size", "port", "prometheus_port", "master_port"),
    *("max_client_batch_size", "payload_limit", "graceful_termination_timeout"),
)
_NUMBERS = ("waiting_served_ratio", "cuda_memory_fraction", "rope_factor", "watermark_gamma", "watermark_delta")
_TEXTS = (
    *("model_id", "revision", "sharded", "quantize", "dtype", "kv_cache_dtype", "cuda_graphs", "hostname"),
    *("shard_uds_path", "master_addr", "huggingface_hub_cache", "weights_cache_override", "rope_scaling"),
    *("otlp_endpoint", "otlp_service_name", "cors_allow_origin", "api_key", "ngrok_authtoken", "ngrok_edge"),
    *("tokenizer_config_path", "lora_adapters", "usage_stats"),
)
_FLAGS = (
    *("trust_remote_code", "disable_custom_kernels", "json_output", "ngrok", "disable_grammar_support", "env"),
    "enable_prefill_logprobs",
)
_OTHERS = ("HF_", "HUGGING_FACE_", "HUGGINGFACE_", "NEURON_", "AWS_", "ECS_", "OMP_", "TRANSFORMERS_")
_OTHER_NAMES = ("LOG_LEVEL", "LOG_COLORIZE", "COMPUTE_TYPE", "RUST_BACKTRACE", "XDG_CACHE_HOME", "MESSAGES_API_ENABLED")
_PROGRAMS = ("text-generation-launcher", "/tgi-entrypoint.sh", "./entrypoint.sh", "/entrypoint.sh")
_U16 = 65535
_COMPILED = ("HF_NUM_CORES", "HF_AUTO_CAST_TYPE")


@dataclass(frozen=True, slots=True, kw_only=True)
class TgiSettings:
    """The settings of the stand-in. Times in seconds."""

    model_id: str
    port: int
    max_batch_size: int
    max_total_tokens: int
    max_input_tokens: int
    max_concurrent_requests: int
    max_best_of: int
    max_stop_sequences: int
    max_client_batch_size: int
    validation_workers: int
    payload_limit: int
    graceful_termination_timeout: int
    api_key: str | None
    logs_arguments: bool
    """Whether the launcher writes them all into its log as it starts (`tracing::info!("{:#?}", args)`): the key too."""


def tgi_settings(command: Sequence[str], environment: Mapping[str, str]) -> TgiSettings:
    """Parse the container's command and environment. Raises `SettingRefused`."""
    words = list(command)
    if words and not words[0].startswith("-"):
        program = words.pop(0)
        # Source: code huggingface/text-generation-inference 3.3.6, Dockerfile.neuron and its entrypoint
        if program not in _PROGRAMS:
            raise SettingRefused(f"exec: {program!r}: executable file not found in TGI's image")
    known = (*_COUNTS, *_NUMBERS, *_TEXTS)
    given = {name: environment[name.upper()] for name in (*known, *_FLAGS) if name.upper() in environment}
    given |= read_words(words, valued=known, flags=_FLAGS)
    _refuse_unread(environment, (*known, *_FLAGS))
    return _checked(given, environment)


def _refuse_unread(environment: Mapping[str, str], known: Sequence[str]) -> None:
    """Refuse environment variables that TGI does not read.

    Source: emulation, the launcher ignores a misspelled variable
    """
    unread = [
        name
        for name in environment
        if name.lower() not in known and not name.startswith(_OTHERS) and name not in _OTHER_NAMES
    ]
    if unread:
        raise SettingRefused(f"TGI does not read {', '.join(unread)} (the real server ignores it)")


def _checked(given: Mapping[str, str], environment: Mapping[str, str]) -> TgiSettings:
    counts = {name: _count(name, given[name]) for name in _COUNTS if name in given}
    for name in _NUMBERS:
        _number(name, given.get(name))
    if given.get("usage_stats", "on") not in ("on", "off", "no-stack"):
        # Source: code huggingface/text-generation-inference 3.3.6, launcher/src/main.rs UsageStatsLevel
        raise SettingRefused(f"error: invalid value '{given['usage_stats']}' for '--usage-stats <USAGE_STATS>'")
    _check_compiled(given, environment)
    if "max_input_tokens" in counts and "max_input_length" in counts:
        # Source: code huggingface/text-generation-inference 3.3.6, launcher/src/main.rs main
        two = f"`max_input_tokens` ({counts['max_input_tokens']}) and `max_input_length` ({counts['max_input_length']})"
        raise SettingRefused(f"Both {two} are set")
    batch, total = counts["max_batch_size"], counts["max_total_tokens"]
    longest = counts.get("max_input_tokens", counts.get("max_input_length", total // 2))
    _check_sizes(counts, batch=batch, total=total, longest=longest)
    return TgiSettings(
        model_id=given["model_id"],
        port=counts.get("port", 3000),
        max_batch_size=batch,
        max_total_tokens=total,
        max_input_tokens=longest,
        max_concurrent_requests=counts.get("max_concurrent_requests", 128),
        max_best_of=counts.get("max_best_of", 2),
        max_stop_sequences=counts.get("max_stop_sequences", 4),
        max_client_batch_size=counts.get("max_client_batch_size", 4),
        validation_workers=counts.get("validation_workers", 2),
        payload_limit=counts.get("payload_limit", 2_000_000),
        graceful_termination_timeout=counts.get("graceful_termination_timeout", 90),
        api_key=given.get("api_key"),
        logs_arguments=_logs_arguments(environment.get("LOG_LEVEL", "info")),
    )


def _logs_arguments(directives: str) -> bool:
    """Read `LOG_LEVEL` as the launcher's filter does: a level for all, or for one target, or for a span of one."""
    levels: dict[str, str] = {}
    for directive in directives.split(","):
        target, _, level = directive.rpartition("=")
        levels[target] = level
    return levels.get("text_generation_launcher", levels.get("", "info")) in ("info", "debug", "trace")


def _check_compiled(given: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Values that TGI reads from the compiled model must be set, because there is no model here.

    Source: code huggingface/text-generation-inference 3.3.6, backends/neuron/server/text_generation_server/tgi_env.py
    Source: emulation, no compiled model is here to read the other values from
    """
    if "model_id" not in given:
        raise SettingRefused("No model id provided ! Either specify it using --model-id cmdline or MODEL_ID env var")
    for name in ("max_batch_size", "max_total_tokens"):
        if name not in given:
            raise SettingRefused(f"{name.upper()} is not set, and there is no compiled model here to read it from")
    for name in _COMPILED:
        if name not in environment:
            raise SettingRefused(f"{name} is not set, and there is no compiled model here to read it from")
    if not environment["HF_NUM_CORES"].isdecimal() or environment["HF_AUTO_CAST_TYPE"] not in ("bf16", "fp16"):
        raise SettingRefused("No compatible neuron config found: HF_NUM_CORES is a number, HF_AUTO_CAST_TYPE a dtype")


def _check_sizes(counts: Mapping[str, int], *, batch: int, total: int, longest: int) -> None:
    """Refuse sizes that exclude each other: first the launcher's checks, then the router's.

    Source: code huggingface/text-generation-inference 3.3.6, launcher/src/main.rs main
    Source: code huggingface/text-generation-inference 3.3.6, backends/v2/src/main.rs main
    """
    if longest >= total:
        raise SettingRefused(f"`max_input_tokens`({longest}) must be < `max_total_tokens`({total})")
    if counts.get("validation_workers", 2) == 0:
        raise SettingRefused("`validation_workers` must be > 0")
    most = counts.get("max_batch_total_tokens", total)
    if total > most:
        raise SettingRefused(f"`max_total_tokens` must be <= `max_batch_total_tokens`. Given: {total} and {most}")
    if batch == 0:
        raise SettingRefused("`max_batch_size` must be > 0")
    prefill = counts.get("max_batch_prefill_tokens", batch * longest)
    if longest > prefill:
        raise SettingRefused(
            f"`max_batch_prefill_tokens` must be >= `max_input_tokens`. Given: {prefill} and {longest}"
        )
    if prefill > counts.get("max_batch_total_tokens", prefill):
        raise SettingRefused(
            f"`max_batch_prefill_tokens` must be <= `max_batch_total_tokens`. Given: {prefill} and {most}"
        )


def _count(name: str, text: str) -> int:
    """Parse a whole number; errors have the text of the launcher's argument parser.

    Source: code huggingface/text-generation-inference 3.3.6, launcher/src/main.rs Args (types of the arguments)
    """
    if not text.isdecimal() or ("port" in name and int(text) > _U16):
        option = name.replace("_", "-")
        raise SettingRefused(f"error: invalid value '{text}' for '--{option} <{name.upper()}>'")
    return int(text)


def _number(name: str, text: str | None) -> None:
    """Refuse a value that is not a number, as `_count` does.

    Source: code huggingface/text-generation-inference 3.3.6, launcher/src/main.rs Args (types of the arguments)
    """
    try:
        float(text or 0)
    except ValueError:
        raise SettingRefused(f"error: invalid value '{text}' for '--{name.replace('_', '-')}'") from None
