"""Statements of policies, and how they are granted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.values import policy_size


def _no_conditions() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """A permission: actions, resources and the reason."""

    sid: str
    """Statement id, letters and digits: its purpose."""
    actions: tuple[str, ...]
    """IAM actions, spelled out; a wildcard only where AWS lists no exact action, and never for nodes."""
    resources: tuple[str, ...]
    """ARNs; `*` only for actions that support no resource."""
    reason: str
    """The reason why a node needs it, without a full stop."""
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=_no_conditions)
    """Condition operator to key to value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Partition, region and account of a policy's ARNs. All three may be tokens."""

    partition: str
    """E.g. `aws`."""
    region: str
    """Region of the cluster."""
    account: str
    """Account of the cluster."""

    @classmethod
    def of(cls, scope: Construct) -> Self:
        """Return the place of the stack that `scope` is in."""
        stack = cdk.Stack.of(scope)
        return cls(partition=stack.partition, region=stack.region, account=stack.account)

    def arn(self, service: str, resource: str, *, account: str | None = None) -> str:
        """Return an ARN of this place; `account` may be `*` for resources of the service's own account."""
        return f"arn:{self.partition}:{service}:{self.region}:{account or self.account}:{resource}"


def describe(permissions: Iterable[Permission]) -> str:
    """Return `permissions` as a Markdown table: statement, what it lets nodes do, on what, and why."""
    lines = ["| statement | actions | on | why |", "|---|---|---|---|"]
    for permission in permissions:
        limits = [
            f"only if {key} is {'there' if operator == 'Null' else _shown(value)}"
            for operator, keys in permission.conditions.items()
            for key, value in keys.items()
        ]
        cells = (
            f"`{permission.sid}`",
            "<br>".join(f"`{action}`" for action in permission.actions),
            "<br>".join([*(f"`{resource}`" for resource in permission.resources), *limits]),
            permission.reason,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    return " or ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType]


def statement_of(permission: Permission) -> iam.PolicyStatement:
    """Return `permission` as a statement of a policy."""
    return iam.PolicyStatement(
        sid=permission.sid,
        actions=list(permission.actions),
        resources=list(permission.resources),
        conditions={operator: dict(keys) for operator, keys in permission.conditions.items()} or None,
    )


def reasons_of(permissions: Sequence[Permission]) -> dict[str, str]:
    """Return the reason behind each ARN; of two statements on one ARN, both reasons."""
    reasons: dict[str, list[str]] = {}
    for permission in permissions:
        for resource in permission.resources:
            reasons.setdefault(resource, []).append(f"{permission.sid}: {permission.reason}")
    return {resource: "; ".join(texts) for resource, texts in reasons.items()}


def characters_of(permissions: Sequence[Permission]) -> int:
    """Return how many characters the policy has as IAM counts them: without white space, with tokens unresolved."""
    statements = [
        {
            "Sid": permission.sid,
            "Effect": "Allow",
            "Action": permission.actions,
            "Resource": permission.resources,
            "Condition": {operator: dict(keys) for operator, keys in permission.conditions.items()},
        }
        for permission in permissions
    ]
    return len(json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":")))


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAccess:
    """A bucket, or the part of it below a prefix."""

    bucket_arn: str
    """ARN of the bucket; may be a token."""
    prefix: str = ""
    """Only keys that begin with `<prefix>/`; the whole bucket when empty."""
    key_arn: str | None = None
    """KMS key that encrypts it; `None` for encryption with S3's own keys."""

    @classmethod
    def of(cls, bucket: s3.IBucket | s3.Bucket, *, prefix: str = "") -> "BucketAccess":
        """Return the access to `bucket`, with its key where it has one of its own."""
        key = bucket.encryption_key
        return cls(bucket_arn=bucket.bucket_arn, prefix=prefix, key_arn=key.key_arn if key else None)

    @property
    def objects_arn(self) -> str:
        """The ARN of all objects below the prefix."""
        return f"{self.bucket_arn}/{self.prefix}/*" if self.prefix else f"{self.bucket_arn}/*"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAccess:
    """A secret."""

    secret_arn: str
    """Full ARN of the secret; may be a token."""
    key_arn: str | None = None
    """KMS key that encrypts it; `None` for `aws/secretsmanager`, which needs no statement."""

    @classmethod
    def of(cls, secret: secretsmanager.ISecret | str) -> "SecretAccess":
        """Return the access to `secret`, with its KMS key if it has its own; the key of an ARN is unknown."""
        if isinstance(secret, str):
            return cls(secret_arn=secret)
        key = secret.encryption_key
        return cls(secret_arn=secret.secret_arn, key_arn=key.key_arn if key else None)


_INLINE = "what is granted is in an inline policy of the role: the CDK's grants have no other form"


def grant(grantee: iam.IGrantable, permissions: Sequence[Permission]) -> iam.Grant:
    """Grant one or more `permissions`, with their reasons. Statement ids are omitted: two grants can be equal."""
    given: iam.Grant | None = None
    for one in permissions:
        added = iam.Grant.add_to_principal(
            grantee=grantee, actions=list(one.actions), resource_arns=list(one.resources)
        )
        given = added if given is None else given.combine(added)
    if given is None:
        return iam.Grant.drop(grantee, "no permissions to grant")
    report_reasons(grantee, reasons_of(permissions))
    return given


def report_reasons(grantee: iam.IGrantable, reasons: Mapping[str, str]) -> None:
    """Acknowledge each ARN with a `*` in the grants of `grantee`, with its reason, and the inline policy."""
    for policy in _policies(grantee.grant_principal):
        acknowledge_wildcards(policy, lambda: dict(reasons))
        acknowledge(policy, _INLINE, "NIST.800.53.R5-IAMNoInlinePolicy")


def _policies(principal: object) -> Sequence[Construct]:
    """Return the policies that grants to `principal` go into; the role itself if they cannot be found."""
    several = getattr(principal, "granted_policies", None)
    if several is not None:
        return several
    if not isinstance(principal, Construct):
        return ()
    own = principal.node.try_find_child("DefaultPolicy")
    return (own if isinstance(own, Construct) else principal,)


class NamedPolicy(Construct):
    """A managed policy with a fixed name and a reason for each statement."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        description: str,
        permissions: Sequence[Permission],
        statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        """Make the policy of `permissions`, and of `statements` without any wildcard.

        `description` must not change: CloudFormation would replace the policy, and fail because its name exists.
        Raises `FleetError` when it is longer than IAM allows.
        """
        super().__init__(scope, id)
        self.permissions: tuple[Permission, ...] = tuple(permissions)
        """The statements, each with its reason."""
        raise_problems(policy_size(characters_of(self.permissions)), subject=self.node.path)
        self.policy = iam.ManagedPolicy(
            self,
            "Resource",
            managed_policy_name=name,
            description=description,
            statements=[*map(statement_of, self.permissions), *statements],
        )
        """The policy itself."""
        acknowledge_wildcards(self.policy, lambda: reasons_of(self.permissions))
        for permission in self.permissions:
            wide = [f"AwsSolutions-IAM5[Action::{action}]" for action in permission.actions if "*" in action]
            if wide:
                acknowledge(self.policy, permission.reason, *wide)

    @property
    def arn(self) -> str:
        """The ARN, a token."""
        return self.policy.managed_policy_arn

    @property
    def resource(self) -> cdk.CfnResource:
        """The L1 beneath."""
        resource = self.policy.node.default_child
        if not isinstance(resource, cdk.CfnResource):
            raise TypeError(f"{self.node.path}: a managed policy without a resource")
        return resource
