"""What stands between clients and model servers."""

from dataclasses import dataclass

from llm_fleet.catalog.service import front_facts
from llm_fleet.inference.jwt import Jwt
from llm_fleet.rules.inference.forms import member_of
from llm_fleet.rules.inference.front import check_front
from llm_fleet.rules.inference.terms import Authentication
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """How clients reach a service: HTTPS, from the VPC alone, with an API key, unless told otherwise.

    Raises `FleetError` (LF114, LF740 to LF753) with all that is wrong with it.
    """

    certificate_arn: str | None = None
    """ARN of a certificate in ACM, in the region of the service. With it the front speaks HTTPS at 443, and port 80
    only sends clients there. Without one, `plain_http` must be asked for: nothing is unencrypted by omission."""
    plain_http: bool = False
    """Whether it may speak HTTP, at port 80, and nothing else: keys, prompts and answers can be read on the way."""
    public: bool = False
    """Whether it has public addresses. Private by default: a model is mostly called by applications in the VPC."""
    allowed_cidrs: tuple[str, ...] = ()
    """IPv4 ranges that may connect, and no others. Empty: the VPC's own addresses. A public front must name them;
    `0.0.0.0/0` is everybody on the internet, and is taken when it is written."""
    authentication: Authentication = Authentication.API_KEY
    """Who may ask the model. An API key unless told otherwise: OpenAI's clients send one, and it needs no issuer."""
    jwt: Jwt | None = None
    """With `Authentication.JWT`: whose tokens."""
    api_key_secret_arn: str | None = None
    """With `Authentication.API_KEY`: the whole ARN of a secret whose text is the key. Default: one is made."""
    longest_answer_seconds: int = front_facts().default_longest_answer_seconds
    """How long one answer may take, up to 3600 s. The load balancer waits so long for the next byte, and a task that
    goes is given so long to finish. Default: 600 s, after which OpenAI's clients themselves give up."""
    domain_name: str | None = None
    """A name of the certificate, which your DNS leads to the load balancer, e.g. `chat.example.com`. Default: the
    service's URL has the load balancer's own name, for which no certificate can be had."""
    requests_per_five_minutes: int = front_facts().default_requests_per_five_minutes
    """How many requests one address may send in five minutes before AWS WAF answers 403. Default: 3000, ten a second,
    which is more than a few Neuron hosts answer; raise it where many clients share one address, behind NAT."""

    def __post_init__(self) -> None:
        """Check it. The word of an `Authentication` is taken for it."""
        object.__setattr__(self, "authentication", member_of(Authentication, self.authentication))
        raise_problems(check_front(self), subject="Front")
