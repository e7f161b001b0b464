"""IAM actions with which CloudFormation creates, changes and deletes resources."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import reader

_types = reader(Mapping[str, tuple[str, ...]], "deployment_permissions", "types")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionScopes:
    """Actions by what a statement with them can name; all others can name the resources of a Region and account."""

    none: frozenset[str]
    """They support no resource."""
    named: frozenset[str]
    """Their resources have names that a template determines."""
    object: frozenset[str]
    """Their resources are objects in S3."""


action_scopes = reader(ActionScopes, "deployment_permissions", "scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployFacts:
    """Limits and names of the roles that deploy a fleet."""

    issuer: str
    """URL of the issuer of GitHub's tokens, which is also the URL of the OIDC provider."""
    issuer_pattern: str
    """Pattern of the URLs of all of GitHub's issuers."""
    audience: str
    """The audience of the tokens that AWS's action requests."""
    repository_pattern: str
    """Pattern of `owner/name`, or of both with their ids: `owner@1/name@2`."""
    managed_policies: int
    """Default quota of managed policies of a role."""
    policy_characters: int
    """Maximum characters of a managed policy, without white space."""
    stack_name_characters: int
    """Characters of a stack's name that generated names keep."""
    service_linked: Mapping[str, tuple[str, ...]]
    """Principals of service-linked roles that a service creates, by resource type or the namespace of several."""
    not_service_linked: Mapping[str, str]
    """Resource types that create no such role although CloudFormation's schema has the action, each with the reason."""
    check_actions: tuple[str, ...]
    """What `llm-fleet check` and `llm-fleet plan` read, besides what the CDK's lookup role reads."""


deploy_facts = reader(DeployFacts, "deploy_role")


def service_linked(resource_type: str) -> tuple[str, ...]:
    """Return the principals of the service-linked roles that are created at the first use of a resource type."""
    found = deploy_facts().service_linked
    return (*found.get(resource_type, ()), *found.get(resource_type.split("::")[1], ()))


@cache
def deployment_actions(resource_type: str) -> tuple[str, ...] | None:
    """Return the actions for a resource type; `None` for a type that is not in the catalog."""
    return _types().get(resource_type)
