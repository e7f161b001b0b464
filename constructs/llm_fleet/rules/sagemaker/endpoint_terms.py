"""The words for what an endpoint is made of."""

from enum import StrEnum


class EndpointModelSource(StrEnum):
    """Where the model is."""

    HUB = "hub"
    """On the Hugging Face Hub; each instance downloads it when it starts."""
    S3 = "s3"
    """Files below a prefix in S3."""
    TARBALL = "tarball"
    """One `.tar.gz` in S3."""


class EndpointImageKind(StrEnum):
    """What serves the model; the image for processors, GPUs or Neuron follows from the instance."""

    VLLM = "vllm"
    TGI = "tgi"
    HUGGING_FACE = "hugging-face"
