"""How clients reach an inference service: encryption, who may connect, who may ask the model."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.catalog.service import front_facts
from llm_fleet.spec import service_words as words
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Seconds, SecretArn


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


class JwtClaim(Spec):
    """A claim that a token must have."""

    name: Annotated[str, Field(examples=["aud"])]
    """The claim, e.g. `aud` or `scope`. Those that are always checked are refused: `exp`, `iss`, `nbf`, `iat`."""
    values: Annotated[tuple[str, ...], Field(examples=[["chat"], "[chat]"])]
    """What it must be or hold. One to ten texts of up to 256 characters."""
    format: ClaimFormat = ClaimFormat.SINGLE_STRING
    """How the token writes it. Default: `single-string`."""


class Jwt(Spec):
    """The issuer whose tokens let clients in, and what its tokens must say.

    The load balancer checks signature, issuer and expiry, and `nbf` and `iat` where a token has them. It knows RS256
    alone, and key sets of up to 10 keys and 150 KB
    (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-verify-jwt.html).
    """

    other_words: ClassVar[Mapping[str, str]] = words.OF_JWT

    issuer: Annotated[str, Field(examples=["https://idp.example.com/"])]
    """The `iss` claim of its tokens, an https URL. It has up to 256 characters."""
    jwks_endpoint: Annotated[str, Field(alias="jwks", examples=["https://idp.example.com/.well-known/jwks.json"])]
    """Where its public keys are, an https URL that the load balancer reaches over the internet."""
    claims: tuple[JwtClaim, ...] = ()
    """What else a token must say, e.g. for whom it is. Default: nothing; every token of the issuer lets in."""


class Front(Spec):
    """The load balancer, who reaches it and who may ask the model: from the VPC alone, with an API key, by default.

    What is wrong with it is LF740 to LF753. Without a certificate, plain HTTP must be asked for.
    """

    other_words: ClassVar[Mapping[str, str]] = words.OF_FRONT

    certificate_arn: Annotated[str | None, Field(alias="certificate")] = None
    """ARN of the certificate in ACM; with it the front speaks HTTPS, and HTTP is sent on to it. Default: none."""
    plain_http: Annotated[bool, Field(alias="http")] = False
    """Whether it may speak HTTP alone, so that keys and prompts cross the network unencrypted. Default: no."""
    domain_name: Annotated[str | None, Field(alias="domain")] = None
    """Name of the certificate that your DNS leads to the load balancer. Default: the load balancer's own name."""
    public: bool = False
    """Whether it has public addresses. Default: no; it is reached from the VPC, and from what is peered with it."""
    allowed_cidrs: Annotated[tuple[str, ...], Field(alias="allowed_from")] = ()
    """Who may reach it, as CIDR blocks; a public one has at least one. Default: the VPC alone."""
    authentication: Annotated[Authentication, Field(alias="auth")] = Authentication.API_KEY
    """Who may ask the model. Default: `api-key`, who has the key in Secrets Manager."""
    jwt: Jwt | None = None
    """With `auth: jwt`: whose tokens are taken."""
    api_key_secret_arn: Annotated[SecretArn | None, Field(alias="api_key_secret")] = None
    """With `auth: api-key`: ARN of a secret whose text is the key. Default: one is made."""
    longest_answer_seconds: Annotated[Seconds, Field(alias="longest_answer")] = (
        front_facts().default_longest_answer_seconds
    )
    """How long one answer may take: idle timeout, draining and stop timeout follow from it. Default: `10 min`, as
    long as the OpenAI client waits."""
    requests_per_five_minutes: int = front_facts().default_requests_per_five_minutes
    """Requests that one client address may send in five minutes before the web ACL refuses it. Default: 3000."""
