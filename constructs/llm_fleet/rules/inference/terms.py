"""The closed vocabularies of inference services, in the fleet file's words."""

from enum import StrEnum


class ServerKind(StrEnum):
    """What program serves the model."""

    TGI = "tgi"
    """Text Generation Inference of Hugging Face, its Neuron back end. In maintenance: 3.3.7 is the last release."""
    HUGGING_FACE_VLLM = "hugging-face-vllm"
    """vLLM with the platform plugin of optimum-neuron, in Hugging Face's image."""
    AWS_VLLM = "aws-vllm"
    """vLLM with NxD Inference, in AWS's image."""
    AWS_VLLM_NEURON = "aws-vllm-neuron"
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""


class Capacity(StrEnum):
    """Who runs the instances under the service."""

    EC2 = "ec2"
    """An auto scaling group of ours: the host's driver is pinned, and S3 is mounted on it."""
    MANAGED_INSTANCES = "managed-instances"
    """ECS Managed Instances: AWS chooses image and driver, and nothing of ours runs on the host."""


class ModelSource(StrEnum):
    """Where the server finds the model."""

    S3 = "s3"
    """In a bucket, mounted on the host by Mountpoint for Amazon S3."""
    HUB = "hub"
    """On the Hugging Face Hub; downloaded when the task starts."""
    IMAGE = "image"
    """In the container image itself."""


class Authentication(StrEnum):
    """Who may ask the model."""

    API_KEY = "api-key"
    """Who has the key in Secrets Manager; the server checks it."""
    JWT = "jwt"
    """Who has a token of the named issuer; the load balancer checks it. HTTPS only."""
    NONE = "none"
    """Everybody who reaches the load balancer."""


class ClaimFormat(StrEnum):
    """How a token writes a claim; Elastic Load Balancing's names."""

    SINGLE_STRING = "single-string"
    """One text, as `client_id` mostly is."""
    STRING_ARRAY = "string-array"
    """A list of texts, as `aud` mostly is."""
    SPACE_SEPARATED = "space-separated-values"
    """Words in one text, as `scope` is."""
