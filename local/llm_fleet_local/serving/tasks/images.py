"""The stand-in for each image."""

import re

from llm_fleet_local.serving.template.problem import NotServable

_REPOSITORIES = {
    "huggingface-pytorch-tgi-inference": "tgi",
    "text-generation-inference": "tgi",
    "huggingface-vllm-inference-neuronx": "hugging-face-vllm",
    "optimum-neuron-vllm": "hugging-face-vllm",
    "pytorch-inference-vllm-neuronx": "aws-vllm",
}
_PLUGIN_TAG = re.compile(r"(\d+\.){5}\d+-")
"""AWS's images of the vLLM Neuron plugin are numbered by vLLM and by the plugin, those with NxD Inference by vLLM alone
(tags of public.ecr.aws/neuron/pytorch-inference-vllm-neuronx)."""


def kind_of_image(image: str) -> str:
    """Return the kind of server in `image`, by its repository's name. Raises `NotServable`."""
    repository = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    if repository not in _REPOSITORIES:
        known = ", ".join(_REPOSITORIES)
        raise NotServable(f"there is no stand-in for image {image}; there is one for {known}")
    kind = _REPOSITORIES[repository]
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    return "aws-vllm-neuron" if kind == "aws-vllm" and _PLUGIN_TAG.match(tag) else kind
