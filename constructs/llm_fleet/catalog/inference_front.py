"""What stands in front of a model server: Elastic Load Balancing, AWS WAF, and what the key of a server covers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How a load balancer asks a target whether it is well."""

    interval_seconds: int
    timeout_seconds: int
    healthy_threshold: int
    """Good answers in a row after which it gets requests."""
    unhealthy_threshold: int
    """Bad ones after which it gets none: a server that is busy with a long prompt may miss one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedRuleGroup:
    """A rule group of AWS's for WAF."""

    name: str
    counted: tuple[str, ...]
    """Its rules that only count, because prompts would be taken for attacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontFacts:
    """Limits and choices."""

    zones: int
    """AZs that an Application Load Balancer stands in at the least."""
    smallest_subnet_prefix: int
    addresses_per_subnet: int
    """Free addresses that it wants in each subnet, to grow."""
    longest_answer_seconds: Limit
    """What deregistration can wait for."""
    default_longest_answer_seconds: int
    idle_timeout_seconds: Limit
    idle_timeout_default_seconds: int
    """Elastic Load Balancing's own."""
    client_keep_alive_seconds: int
    """Elastic Load Balancing's own: how long a connection of a client is used before a new one is asked for."""
    tls_policy: str
    health_check: HealthCheck
    fixed_response_characters: int
    jwt_text_characters: int
    """Of an issuer, a JWKS endpoint, and a claim's value."""
    jwt_claims: int
    jwt_claim_values: int
    jwt_own_claims: tuple[str, ...]
    """Claims that are checked always and cannot be named."""
    certificate_arn: str
    """A regular expression with the group `region`, which is empty for a certificate in IAM."""
    secret_arn: str
    """A regular expression with the group `region`."""
    api_key_characters: int
    requests_per_five_minutes: Limit
    default_requests_per_five_minutes: int
    rate_window_seconds: int
    managed_rule_groups: tuple[ManagedRuleGroup, ...]
    answered_without_key: Mapping[str, tuple[str, ...]]
    """By kind of server, the paths below `/v1/` that it answers to whoever asks, key or no key."""


@cache
def front_facts() -> FrontFacts:
    """Return the facts, read once a process."""
    facts = dict(load("inference_front"))
    limits = {
        name: Limit(**facts.pop(name))
        for name in ("longest_answer_seconds", "idle_timeout_seconds", "requests_per_five_minutes")
    }
    groups = tuple(
        ManagedRuleGroup(name=group["name"], counted=tuple(group["counted"]))
        for group in facts.pop("managed_rule_groups")
    )
    open_paths = {kind: tuple(paths) for kind, paths in facts.pop("answered_without_key").items()}
    return FrontFacts(
        health_check=HealthCheck(**facts.pop("health_check")),
        managed_rule_groups=groups,
        answered_without_key=open_paths,
        jwt_own_claims=tuple(facts.pop("jwt_own_claims")),
        **limits,
        **facts,
    )
