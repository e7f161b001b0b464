"""What rules ask of an endpoint. The constructs' values and the models of the fleet file have these attributes."""

from collections.abc import Mapping
from typing import Protocol

from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind, EndpointModelSource


class EndpointModelLike(Protocol):
    """The model."""

    @property
    def source(self) -> EndpointModelSource:
        """Where it is."""
        ...

    @property
    def location(self) -> str:
        """An id of the Hub, or an address in S3."""
        ...

    @property
    def revision(self) -> str | None:
        """Branch, tag or commit on the Hub."""
        ...

    @property
    def task(self) -> str | None:
        """What transformers' pipeline does."""
        ...

    @property
    def parameters(self) -> int | None:
        """How many weights it has; `None` where nobody knows."""
        ...


class EndpointImageLike(Protocol):
    """The image."""

    @property
    def kind(self) -> EndpointImageKind | None:
        """What serves; `None` for the usual one, and for an image of the user's own."""
        ...

    @property
    def version(self) -> str | None:
        """Which version of it; `None` for the newest."""
        ...

    @property
    def uri(self) -> str | None:
        """An image of the user's own."""
        ...

    @property
    def cuda(self) -> str | None:
        """The CUDA that an image of the user's own was built for."""
        ...


class NeuronSettingsLike(Protocol):
    """What a model on Neuron is, or was, compiled for."""

    @property
    def cores(self) -> int | None:
        """Over how many NeuronCores; `None` for all."""
        ...

    @property
    def batch_size(self) -> int:
        """How many requests at once."""
        ...

    @property
    def sequence_length(self) -> int:
        """How many tokens a request and its answer have together."""
        ...


class EndpointLike(Protocol):
    """An endpoint."""

    @property
    def name(self) -> str:
        """What SageMaker knows it by."""
        ...

    @property
    def region(self) -> str | None:
        """Where it is; `None` where that is known only at deploy time."""
        ...

    @property
    def model(self) -> EndpointModelLike:
        """What is served."""
        ...

    @property
    def image(self) -> EndpointImageLike:
        """What serves it."""
        ...

    @property
    def instance_type(self) -> str:
        """On what, with `ml.`."""
        ...

    @property
    def instance_count(self) -> int:
        """On how many."""
        ...

    @property
    def inference_ami(self) -> str | None:
        """What the instances boot from; `None` for what goes with image and instance."""
        ...

    @property
    def neuron(self) -> NeuronSettingsLike | None:
        """What the model is compiled for."""
        ...

    @property
    def volume_gib(self) -> int | None:
        """The EBS volume of an instance."""
        ...

    @property
    def download_timeout_seconds(self) -> int | None:
        """How long fetching the model from S3 may take."""
        ...

    @property
    def startup_timeout_seconds(self) -> int | None:
        """How long the container may take until it answers."""
        ...

    @property
    def network_isolation(self) -> bool:
        """Whether the container has no network at all."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Further variables of the container."""
        ...
