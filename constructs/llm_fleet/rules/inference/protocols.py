"""What the rules of an inference service ask of it: read-only attributes, all plain values.

The construct's value classes and the fleet file's models both have this shape, so that one rule serves both.
Any value may be an unresolved CDK token; the rules pass over those. An attribute is named in the user's words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from llm_fleet.rules.inference.terms import Authentication, Capacity, ClaimFormat, ModelSource, ServerKind


class ServerLike(Protocol):
    """A model server (`ModelServer`)."""

    @property
    def kind(self) -> ServerKind:
        """Which program."""
        ...

    @property
    def image(self) -> str | None:
        """The URI of another image in place of the catalog's; `None` is the catalog's."""
        ...

    @property
    def runtime_version(self) -> str | None:
        """`aws-neuronx-runtime-lib` inside `image`; `None` is what the catalog says of its own image."""
        ...

    @property
    def tensor_parallel(self) -> int | None:
        """Over how many NeuronCores each layer is spread; `None` is all cores of the instance."""
        ...

    @property
    def batch_size(self) -> int:
        """How many sequences are generated side by side; compiled into the model."""
        ...

    @property
    def sequence_length(self) -> int:
        """Tokens of prompt and answer together, at most; compiled into the model."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else the server takes, by the names of the arguments of its `ModelServer.<kind>(…)`; `None` left out."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Further environment variables of its container, by name."""
        ...

    @property
    def capabilities(self) -> Sequence[str]:
        """Linux capabilities that its container has beyond Docker's default ones."""
        ...


class ShapeLike(Protocol):
    """How large a model is (`ModelShape`)."""

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        ...

    @property
    def layers(self) -> int:
        """How many decoder layers."""
        ...

    @property
    def attention_heads(self) -> int:
        """Heads of queries in a layer."""
        ...

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values in a layer."""
        ...

    @property
    def head_dim(self) -> int:
        """Numbers in a head."""
        ...

    @property
    def bytes_per_parameter(self) -> int:
        """2 in bf16 and fp16."""
        ...


class ModelLike(Protocol):
    """The model that is served (`Model`)."""

    @property
    def source(self) -> ModelSource:
        """Where the server finds it."""
        ...

    @property
    def location(self) -> str:
        """`s3://bucket/prefix`, an id of the Hub (`owner/name`), or a path in the image."""
        ...

    @property
    def revision(self) -> str | None:
        """Branch, tag or commit on the Hub."""
        ...

    @property
    def token_secret_arn(self) -> str | None:
        """ARN of the secret with the Hub's token; `None` asks for no gated model."""
        ...

    @property
    def compiled(self) -> bool:
        """Whether it was exported for Neuron already, so that the server compiles nothing."""
        ...

    @property
    def shape(self) -> ShapeLike | None:
        """How large it is; `None` when nobody told and its name tells nothing."""
        ...

    @property
    def served_name(self) -> str | None:
        """What clients write as `model`; `None` is the service's name."""
        ...


class HostsLike(Protocol):
    """The instances under the service (`Ec2Hosts`, `ManagedHosts`)."""

    @property
    def capacity(self) -> Capacity:
        """Who runs them."""
        ...

    @property
    def instance_type(self) -> str:
        """EC2's name, e.g. `inf2.xlarge`."""
        ...

    @property
    def root_volume_gib(self) -> int | None:
        """Size of the root volume; `None` is the catalog's, which holds the image."""
        ...

    @property
    def ami(self) -> str | None:
        """A release of the ECS Neuron AMI (`20260701`) or an AMI id; `None` is the catalog's; never with `MANAGED`."""
        ...

    @property
    def driver_version(self) -> str | None:
        """`aws-neuronx-dkms` that the host must have; `None` is the catalog's for the server's runtime."""
        ...

    @property
    def install_driver(self) -> bool:
        """Whether a host whose AMI has another driver may install the pinned one at boot; never with `MANAGED`."""
        ...


class ScalingLike(Protocol):
    """How many tasks there are (`Scaling`)."""

    @property
    def desired(self) -> int:
        """How many at first; a task has an instance to itself."""
        ...

    @property
    def minimum(self) -> int | None:
        """Never fewer; `None` is `desired`."""
        ...

    @property
    def maximum(self) -> int | None:
        """Never more; `None` is `desired`, which scales nothing."""
        ...

    @property
    def queue_target(self) -> float | None:
        """Requests that may wait in a task on average; `None` is the catalog's."""
        ...

    @property
    def requests_per_minute_target(self) -> float | None:
        """Requests a target a minute, in place of the queue; `None` scales by the queue."""
        ...


class JwtClaimLike(Protocol):
    """Something that a token must say (`JwtClaim`)."""

    @property
    def name(self) -> str:
        """The claim, e.g. `aud` or `scope`."""
        ...

    @property
    def values(self) -> Sequence[str]:
        """What it must be or hold."""
        ...

    @property
    def format(self) -> ClaimFormat:
        """How the token writes it."""
        ...


class JwtLike(Protocol):
    """Whose tokens are taken (`Jwt`)."""

    @property
    def issuer(self) -> str:
        """The `iss` claim, an https URL."""
        ...

    @property
    def jwks_endpoint(self) -> str:
        """Where the issuer's keys are, an https URL."""
        ...

    @property
    def claims(self) -> Sequence["JwtClaimLike"]:
        """What else a token must say, besides the issuer and a time that is not over."""
        ...


class FrontLike(Protocol):
    """What stands between clients and servers (`Front`)."""

    @property
    def certificate_arn(self) -> str | None:
        """ARN of the ACM certificate; with it the front speaks HTTPS, and HTTP is sent on to it."""
        ...

    @property
    def plain_http(self) -> bool:
        """Whether it may speak HTTP alone."""
        ...

    @property
    def public(self) -> bool:
        """Whether it has public addresses."""
        ...

    @property
    def allowed_cidrs(self) -> Sequence[str]:
        """Who may reach it; empty is the VPC alone, which a public front may not be."""
        ...

    @property
    def authentication(self) -> Authentication:
        """Who may ask the model."""
        ...

    @property
    def jwt(self) -> JwtLike | None:
        """With `Authentication.JWT`: whose tokens."""
        ...

    @property
    def api_key_secret_arn(self) -> str | None:
        """With `Authentication.API_KEY`: an existing secret; `None` makes one."""
        ...

    @property
    def longest_answer_seconds(self) -> int:
        """How long one answer may take: idle timeout, draining and stop timeout follow from it."""
        ...

    @property
    def domain_name(self) -> str | None:
        """The certificate's name, which DNS leads to the front; `None` is the load balancer's own name."""
        ...

    @property
    def requests_per_five_minutes(self) -> int:
        """How many requests one client address may send in five minutes."""
        ...


class ServiceLike(Protocol):
    """A whole inference service (`InferenceService`)."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def region(self) -> str | None:
        """Where it stands; `None` when nobody told."""
        ...

    @property
    def server(self) -> ServerLike:
        """What serves."""
        ...

    @property
    def model(self) -> ModelLike:
        """What is served."""
        ...

    @property
    def hosts(self) -> HostsLike:
        """On what."""
        ...

    @property
    def scaling(self) -> ScalingLike:
        """By how many."""
        ...

    @property
    def front(self) -> FrontLike:
        """Through what."""
        ...
