"""What stands between clients and the servers."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.catalog.service import front_facts
from llm_fleet.config.services.jwt import JwtConfig
from llm_fleet.rules.inference.terms import Authentication
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Seconds, SecretArn


class FrontConfig(FleetModel):
    """The load balancer, who reaches it and who may ask the model (`FrontLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "cert": "write `certificate`, the ARN of a certificate in ACM",
        "https": "write `certificate`, the ARN of a certificate in ACM",
        "tls": "write `certificate`, the ARN of a certificate in ACM",
        "internet_facing": "write `public: true` and `allowed_from`",
        "scheme": "write `public: true` and `allowed_from`, or leave it private",
        "cidrs": "write `allowed_from`",
        "allowed_cidrs": "write `allowed_from`",
        "allow": "write `allowed_from`",
        "apikey": "write `auth: api-key`",
        "api_key": "write `auth: api-key`, and `api_key_secret` for a secret that exists",
        "authentication": "write `auth`",
        "idle_timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
        "timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
        "oidc": "write `auth: jwt`: OIDC of a load balancer sends browsers to a page; clients of an API follow none",
        "cognito": "write `auth: jwt`, with the user pool as its issuer",
    }

    certificate_arn: str | None = Field(default=None, alias="certificate")
    """ARN of the certificate in ACM; with it the front speaks HTTPS, and HTTP is sent on to it. Default: none."""
    plain_http: bool = Field(default=False, alias="http")
    """Whether it may speak HTTP alone, so that keys and prompts cross the network unencrypted. Default: no."""
    domain_name: str | None = Field(default=None, alias="domain")
    """Name of the certificate that your DNS leads to the load balancer. Default: the load balancer's own name."""
    public: bool = False
    """Whether it has public addresses. Default: no; it is reached from the VPC, and from what is peered with it."""
    allowed_cidrs: tuple[str, ...] = Field(default=(), alias="allowed_from")
    """Who may reach it, as CIDR blocks; a public one has at least one. Default: the VPC alone."""
    authentication: Authentication = Field(default=Authentication.API_KEY, alias="auth")
    """Who may ask the model. Default: `api-key`, who has the key in Secrets Manager."""
    jwt: JwtConfig | None = None
    """With `auth: jwt`: whose tokens are taken."""
    api_key_secret_arn: SecretArn | None = Field(default=None, alias="api_key_secret")
    """With `auth: api-key`: ARN of a secret whose text is the key. Default: one is made."""
    longest_answer_seconds: Seconds = Field(
        default=front_facts().default_longest_answer_seconds, alias="longest_answer"
    )
    """How long one answer may take: idle timeout, draining and stop timeout follow from it. Default: `10 min`, as
    long as the OpenAI client waits."""
    requests_per_five_minutes: int = front_facts().default_requests_per_five_minutes
    """Requests that one client address may send in five minutes before the web ACL refuses it. Default: 3000."""
