"""What the page on endpoints promises is what the code does."""

import inspect

from llm_fleet import HuggingFaceEndpoint
from llm_fleet.catalog.endpoint import default_image_kind, endpoint_images, image_kinds, inference_amis
from llm_fleet.config.sagemaker.endpoint import EndpointConfig
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from tools.synth_environment import ROOT

PAGE = (ROOT / "docs" / "constructs" / "hugging-face-endpoint.md").read_text()


def test_every_argument_is_on_the_page() -> None:
    arguments = list(inspect.signature(HuggingFaceEndpoint.__init__).parameters)[3:]
    assert [name for name in arguments if f"`{name}`" not in PAGE] == []


def test_every_key_of_the_fleet_file_is_on_the_page() -> None:
    keys = [EndpointConfig.key_of(attribute) for attribute in EndpointConfig.model_fields]
    assert [key for key in keys if f"`{key}`" not in PAGE] == []


def test_defaults_are_as_the_page_says() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(HuggingFaceEndpoint.__init__).parameters.items()
    }
    assert f"| `instance_count` | {defaults['instance_count']} |" in PAGE
    assert f"| `log_retention_days` | {defaults['log_retention_days']} |" in PAGE
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
