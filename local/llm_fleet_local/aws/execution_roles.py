"""Evaluates the permissions of a stack's service role (`RoleARN`) for each call that CloudFormation makes with it.

Off by default: `LocalAws.check_execution_roles` switches it on. The policies are those that the role has in IAM when an
operation begins; identity policies with Allow and Deny, actions, resources, and the condition keys of `_values`.
Session policies, permissions boundaries of the role itself, SCPs and resource policies are not evaluated.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html (2026-11)
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from llm_fleet_local.aws.execution_calls import actions_of, resource_of
from llm_fleet_local.aws.resource_provider import ResourceFailed

_EAST = "us-east-1"
_GLOBAL = frozenset({"billing", "budgets", "chatbot", "iam"})
_TRUSTED = "cloudformation.amazonaws.com"
_wanted = False


@dataclass(slots=True)
class _Role:
    arn: str
    iam: Any
    """An IAM client with all permissions."""
    statements: list[dict[str, Any]] | None = None
    """`None` before the first call."""

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]


_acting: ContextVar[_Role | None] = ContextVar("acting", default=None)


def check_execution_roles(wanted: bool) -> None:
    """Evaluate service roles from now on, or (False) let each stack do everything."""
    global _wanted
    _wanted = wanted


@contextmanager
def acting_as(role_arn: str | None, iam: Callable[[], Any]) -> Generator[None]:
    """Make the calls of this thread with a stack's role. `None`: the role of the stack around it, if there is one.

    `iam` returns an IAM client.
    """
    if not _wanted or role_arn is None:
        yield
        return
    token = _acting.set(_Role(role_arn, iam()))
    try:
        yield
    finally:
        _acting.reset(token)


@contextmanager
def without_role() -> Generator[None]:
    """Make the calls of this thread without the stack's role.

    They are of the function of a custom resource, which has a role of its own, or of what the service itself checks.
    """
    token = _acting.set(None)
    try:
        yield
    finally:
        _acting.reset(token)


def require(action: str, resource: str, *, region: str) -> None:
    """Raise `ResourceFailed` if the stack's role does not allow an action on a resource."""
    role = _acting.get()
    if role is not None:
        _require(role, action, resource, {"aws:RequestedRegion": region})


def require_call(model: Any, region: str, params: Mapping[str, Any]) -> None:
    """Raise `ResourceFailed` if the stack's role does not allow a call; `model` is botocore's of the operation.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html (2026-11)
    """
    role = _acting.get()
    if role is None:
        return
    for action in actions_of(model, params):
        exists, has_resource = _known(action)
        if not exists:
            raise ResourceFailed(f"the AWS emulator does not know the IAM action {action}")
        resource = resource_of(action, params, region=region, account=role.account) if has_resource else "*"
        _require(role, action, resource, _values(role, action, region, params))
    if model.name == "AddRoleToInstanceProfile":
        _require_pass(role, f"arn:aws:iam::{role.account}:role/{params['RoleName']}")
    elif model.service_model.service_name != "iam":
        for arn in _passed_roles(params):
            _require_pass(role, arn)


def _require_pass(role: _Role, arn: str) -> None:
    """Require iam:PassRole, for one of the services that the passed role trusts.

    Source: document https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html (2026-11)
    """
    services = list(_trusted_by(role.iam, arn)) or [""]
    if not any(_allows(role, "iam:PassRole", arn, {"iam:PassedToService": service}) for service in services):
        _deny(role, "iam:PassRole", arn)


def _values(role: _Role, action: str, region: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the condition keys of a call."""
    values = {"aws:RequestedRegion": _EAST if action.partition(":")[0] in _GLOBAL else region}
    if action == "iam:CreateServiceLinkedRole":
        values["iam:AWSServiceName"] = str(params.get("AWSServiceName"))
    if action.startswith("iam:") and "RoleName" in params:
        boundary = params.get("PermissionsBoundary") or _boundary_of(role.iam, str(params["RoleName"]))
        if boundary:
            values["iam:PermissionsBoundary"] = str(boundary)
    return values


def _boundary_of(iam: Any, name: str) -> str | None:
    try:
        return iam.get_role(RoleName=name)["Role"].get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")
    except iam.exceptions.NoSuchEntityException:
        return None


def _require(role: _Role, action: str, resource: str, values: Mapping[str, str]) -> None:
    if not _allows(role, action, resource, values):
        _deny(role, action, resource)


def _deny(role: _Role, action: str, resource: str) -> None:
    # Source: document https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html (2026-11)
    name = role.arn.rpartition("/")[2]
    raise ResourceFailed(
        f"AccessDenied: User: arn:aws:sts::{role.account}:assumed-role/{name}/AWSCloudFormation is not authorized to "
        f"perform: {action} on resource: {resource} because no identity-based policy allows the {action} action"
    )


def _allows(role: _Role, action: str, resource: str, values: Mapping[str, str]) -> bool:
    if role.statements is None:
        role.statements = list(_statements(role))
    effects = {one["Effect"] for one in role.statements if _applies(one, action, resource, values)}
    return "Allow" in effects and "Deny" not in effects


def _statements(role: _Role) -> Iterator[dict[str, Any]]:
    """Yield the statements of a role's policies. Raises `ResourceFailed` for a role that CloudFormation cannot assume.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-iam-servicerole.html (2026-11)
    """
    name = role.arn.rpartition("/")[2]
    if _TRUSTED not in _trusted_by(role.iam, role.arn):
        raise ResourceFailed(f"CloudFormation cannot assume {role.arn}: it does not trust {_TRUSTED}")
    for attached in role.iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
        policy = role.iam.get_policy(PolicyArn=attached["PolicyArn"])["Policy"]
        version = role.iam.get_policy_version(PolicyArn=policy["Arn"], VersionId=policy["DefaultVersionId"])
        yield from _listed(version["PolicyVersion"]["Document"]["Statement"])
    for inline in role.iam.list_role_policies(RoleName=name)["PolicyNames"]:
        yield from _listed(role.iam.get_role_policy(RoleName=name, PolicyName=inline)["PolicyDocument"]["Statement"])


def _trusted_by(iam: Any, role_arn: str) -> Iterator[str]:
    """Yield the services that a role trusts; none for a role that does not exist."""
    try:
        document = iam.get_role(RoleName=role_arn.rpartition("/")[2])["Role"]["AssumeRolePolicyDocument"]
    except iam.exceptions.NoSuchEntityException:
        return
    for statement in _listed(document["Statement"]):
        principal = statement.get("Principal", {})
        yield from _listed(principal.get("Service", [])) if isinstance(principal, dict) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def _applies(statement: Mapping[str, Any], action: str, resource: str, values: Mapping[str, str]) -> bool:
    return (
        any(_matches(pattern, action, ignore_case=True) for pattern in _listed(statement.get("Action", [])))
        and any(_matches(pattern, resource) for pattern in _listed(statement.get("Resource", [])))
        and all(
            any(_meets(operator, wanted, values.get(key)) for wanted in _listed(allowed))
            for operator, keys in statement.get("Condition", {}).items()
            for key, allowed in keys.items()
        )
    )


def _meets(operator: str, wanted: str, value: str | None) -> bool:
    """Return whether a condition is met; a key without a value, and an unknown operator, are not."""
    if value is None:
        return False
    return value == wanted if operator == "StringEquals" else operator == "StringLike" and _matches(wanted, value)


def _matches(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    return _expression(pattern, ignore_case).fullmatch(text) is not None


@cache
def _expression(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    parts = (".*" if part == "*" else "." if part == "?" else re.escape(part) for part in re.split(r"([*?])", pattern))
    return re.compile("".join(parts), re.IGNORECASE if ignore_case else 0)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _passed_roles(value: Any) -> Iterable[str]:
    """Yield the ARNs of roles anywhere in the input of a call."""
    if isinstance(value, str):
        yield from re.findall(r"^arn:[a-z-]+:iam::\d{12}:role/[\w+=,.@/-]+$", value)
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _passed_roles(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _passed_roles(inner)


@cache
def _reference() -> dict[str, Any]:
    text = files("cfnlint.data.AdditionalSpecs").joinpath("Policies.json").read_text(encoding="utf-8")
    return json.loads(text)


def _known(action: str) -> tuple[bool, bool]:
    """Return whether an action exists, and whether it supports resources.

    Source: model cfn-lint AdditionalSpecs/Policies.json
    """
    service, _, name = action.partition(":")
    found = _reference().get(service, {}).get("Actions", {}).get(name.lower())
    return found is not None, bool(found and found.get("Resources"))
