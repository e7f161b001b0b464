"""What the pages on endpoints promise is what the code does."""

import inspect

from llm_fleet import HuggingFaceEndpoint
from llm_fleet.catalog.endpoint import default_image_kind, endpoint_images, image_kinds, inference_amis
from llm_fleet.catalog.endpoint_operations import endpoint_alarm_facts, endpoint_scaling_facts, rollout_facts
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "hugging-face-endpoint.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "constructs" / "hugging-face-endpoint-operations.md").read_text(encoding="utf-8")


def test_every_argument_is_on_the_page() -> None:
    arguments = list(inspect.signature(HuggingFaceEndpoint.__init__).parameters)[3:]
    assert [name for name in arguments if f"`{name}`" not in PAGE] == []


def test_the_usual_images_are_as_the_page_says() -> None:
    for accelerator, words in {"gpu": "GPUs", "neuron": "Inferentia and Trainium", "cpu": "processors"}.items():
        assert f"| {words} | `{default_image_kind(accelerator)}` |" in PAGE


def test_images_and_host_images_are_those_of_the_catalog() -> None:
    for kind in image_kinds():
        for accelerator in ("cpu", "gpu", "neuron"):
            for facts in list(endpoint_images(kind, accelerator).values())[:1]:
                assert f"{facts.repository}:{facts.tag}" in PAGE
    for ami in inference_amis().values():
        assert f"| `{ami.name}` | {ami.driver} | {ami.cuda or '-'} |" in PAGE


def test_every_code_of_what_an_endpoint_is_made_of_is_on_the_page() -> None:
    ours = [code for code in SageMakerCode if "LF930" <= code.value <= "LF944"]
    assert [code.value for code in ours if code.value not in PAGE] == []


def test_defaults_are_as_the_page_says() -> None:
    scaling, rollout, alarms = endpoint_scaling_facts(), rollout_facts(), endpoint_alarm_facts()
    assert f"{scaling.concurrent_requests:g} requests at a time" in OPERATIONS
    assert f"{scaling.out_seconds} s after" in OPERATIONS
    assert f"{scaling.in_seconds} s after" in OPERATIONS
    for kind, limit in rollout.step_percent.items():
        word, default = kind.lower().replace("_", "-"), rollout.default_step_percent[kind]
        assert f"| `{word}` | {limit.minimum} to {limit.maximum} %, default {default} |" in OPERATIONS
    assert f"for {rollout.default_bake_seconds} s, and for {rollout.shortest_bake_seconds} s at least" in OPERATIONS
    assert f"stay for {rollout.default_termination_wait_seconds} s" in OPERATIONS
    assert f"{alarms.server_error_percent:g} % of the requests" in OPERATIONS
    assert f"took {alarms.model_latency_seconds:g} s or more" in OPERATIONS
    assert f"ran for {alarms.idle_hours} hours" in OPERATIONS


def test_every_code_of_an_operation_is_on_its_page() -> None:
    ours = [code.value for code in SageMakerCode if "LF945" <= code.value <= "LF959"]
    assert ours
    assert [code for code in ours if code not in OPERATIONS] == []
