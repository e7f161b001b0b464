"""An endpoint that is right, for tests of rules to spoil."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_check import check_endpoint
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind, EndpointModelSource
from llm_fleet.rules.terms import InternetAccess


@dataclass(frozen=True, kw_only=True)
class AModel:
    source: EndpointModelSource = EndpointModelSource.HUB
    location: str = "EleutherAI/gpt-j-6b"
    revision: str | None = None
    task: str | None = None
    parameters: int | None = None


@dataclass(frozen=True, kw_only=True)
class AnImage:
    kind: EndpointImageKind | None = None
    version: str | None = None
    uri: str | None = None
    cuda: str | None = None


@dataclass(frozen=True, kw_only=True)
class SomeNeuron:
    cores: int | None = None
    batch_size: int = 1
    sequence_length: int = 2048


@dataclass(frozen=True, kw_only=True)
class AnEndpoint:
    name: str = "gpt-j"
    region: str | None = "us-west-2"
    model: AModel = AModel()
    image: AnImage = AnImage()
    instance_type: str = "ml.g4dn.xlarge"
    instance_count: int = 1
    inference_ami: str | None = None
    neuron: SomeNeuron | None = None
    volume_gib: int | None = None
    download_timeout_seconds: int | None = None
    startup_timeout_seconds: int | None = None
    network_isolation: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


FILES = AModel(source=EndpointModelSource.S3, location="s3://my-models/gpt-j/")
TARBALL = AModel(source=EndpointModelSource.TARBALL, location="s3://my-models/gpt-j/model.tar.gz")
INF2 = "ml.inf2.xlarge"
OWN = "123456789012.dkr.ecr.us-west-2.amazonaws.com/mine:1"


def endpoint(**changes: Any) -> AnEndpoint:
    """The good endpoint with these changes."""
    return replace(AnEndpoint(), **changes)


def problems(internet: InternetAccess | None = None, *, in_network: bool = False, **changes: Any) -> list[Problem]:
    """What is told of the endpoint with these changes; nothing of the good one."""
    return check_endpoint(endpoint(**changes), internet=internet, in_network=in_network)


def only(**changes: Any) -> Problem:
    """The one problem of the endpoint with these changes."""
    (problem,) = problems(**changes)
    return problem
