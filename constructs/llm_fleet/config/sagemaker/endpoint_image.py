"""The container image of an endpoint."""

from collections.abc import Mapping
from typing import ClassVar

from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind
from llm_fleet.spec.model import FleetModel


class EndpointImageConfig(FleetModel):
    """What serves the model (`EndpointImageLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "transformers_version": "write `kind: hugging-face` and `version`",
        "image_uri": "write `uri`",
        "framework": "write `kind`",
    }

    kind: EndpointImageKind | None = None
    """`vllm`, `tgi` or `hugging-face`. Default: `vllm` on GPUs and Neuron, `hugging-face` on processors."""
    version: str | None = None
    """Which version of it. Default: the newest that is known for what the instance computes with."""
    uri: str | None = None
    """An image of your own, in ECR of the fleet's region, in place of `kind`."""
    cuda: str | None = None
    """The CUDA that your own image was built for, e.g. `"12.4"`. Default: none is known, and no driver chosen by it."""
