"""What TGI's launcher takes and refuses."""

import pytest

from local.serving.servers.command_words import SettingRefused
from local.serving.servers.tgi_settings import tgi_settings
from tests.local.serving.templates import TGI_ENVIRONMENT

LAUNCHER = ["text-generation-launcher"]


def test_the_environment_says_what_is_served():
    settings = tgi_settings(LAUNCHER, {**TGI_ENVIRONMENT, "API_KEY": "k", "HF_HOME": "/x", "USAGE_STATS": "off"})
    assert (settings.port, settings.max_batch_size, settings.max_total_tokens) == (8080, 2, 400)
    assert (settings.max_input_tokens, settings.graceful_termination_timeout, settings.api_key) == (200, 90, "k")


def test_what_is_not_said_is_the_launchers_default():
    told = {"MODEL_ID": "m", "HF_NUM_CORES": "2", "HF_AUTO_CAST_TYPE": "bf16", "MAX_BATCH_SIZE": "4"}
    settings = tgi_settings([], {**told, "MAX_TOTAL_TOKENS": "4096"})
    assert (settings.port, settings.max_input_tokens, settings.max_concurrent_requests) == (3000, 2048, 128)
    assert settings.api_key is None


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        (None, True),
        ("info", True),
        ("warn", False),
        ("text_generation_launcher=warn,info", False),
        ("warn,text_generation_launcher=debug", True),
        ("info,text_generation_launcher=warn,text_generation_launcher[shard-manager]=info", False),
    ],
)
def test_the_launcher_writes_its_arguments_into_its_log_unless_told_otherwise(level: str | None, logged: bool):
    told = {"LOG_LEVEL": level} if level else {}
    assert tgi_settings([], {**TGI_ENVIRONMENT, **told}).logs_arguments is logged


def test_arguments_stand_above_the_environment():
    settings = tgi_settings([*LAUNCHER, "--max-batch-size", "8", "--port=80", "--json-output"], TGI_ENVIRONMENT)
    assert (settings.max_batch_size, settings.port) == (8, 80)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"MAX_INPUT_TOKENS": "400"}, "`max_input_tokens`(400) must be < `max_total_tokens`(400)"),
        ({"MAX_INPUT_TOKENS": "half"}, "invalid value 'half' for '--max-input-tokens"),
        ({"PORT": "65536"}, "invalid value '65536' for '--port"),
        ({"MAX_BATCH_SIZE": "0"}, "`max_batch_size` must be > 0"),
        ({"VALIDATION_WORKERS": "0"}, "`validation_workers` must be > 0"),
        ({"MAX_BATCH_PREFILL_TOKENS": "100"}, "must be >= `max_input_tokens`. Given: 100 and 200"),
        ({"MAX_BATCH_TOTAL_TOKENS": "100"}, "must be <= `max_batch_total_tokens`. Given: 400 and 100"),
        ({"MAX_BATCH_TOTAL_TOKENS": "400", "MAX_BATCH_PREFILL_TOKENS": "401"}, "Given: 401 and 400"),
        ({"MAX_INPUT_LENGTH": "100"}, "Both `max_input_tokens` (200) and `max_input_length` (100) are set"),
        ({"USAGE_STATS": "none"}, "invalid value 'none' for '--usage-stats"),
        ({"WAITING_SERVED_RATIO": "much"}, "invalid value 'much'"),
        ({"HF_AUTO_CAST_TYPE": "int3"}, "No compatible neuron config found"),
        ({"MAX_TOTAL_TOKEN": "4"}, "nothing in TGI reads MAX_TOTAL_TOKEN"),
    ],
)
def test_what_is_illegal_is_refused_in_the_launchers_words(changed: dict[str, str], said: str):
    with pytest.raises(SettingRefused) as refused:
        tgi_settings(LAUNCHER, {**TGI_ENVIRONMENT, **changed})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "name", ["MODEL_ID", "MAX_BATCH_SIZE", "MAX_TOTAL_TOKENS", "HF_NUM_CORES", "HF_AUTO_CAST_TYPE"]
)
def test_what_a_compiled_model_would_tell_must_be_told(name: str):
    with pytest.raises(SettingRefused):
        tgi_settings(LAUNCHER, {key: value for key, value in TGI_ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("command", [["vllm", "serve"], [*LAUNCHER, "--max-batch", "4"], [*LAUNCHER, "--port"]])
def test_unknown_programs_and_arguments_are_refused(command: list[str]):
    with pytest.raises(SettingRefused):
        tgi_settings(command, TGI_ENVIRONMENT)
