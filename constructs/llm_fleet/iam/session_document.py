"""Session Manager sessions: the document, the permissions to start one, and the user of the session."""

from collections.abc import Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct, IConstruct

from llm_fleet.catalog.nodes import session_facts
from llm_fleet.iam.statements import BucketAccess, Permission, grant, report_reasons
from llm_fleet.rules.node_users import (
    cannot_tag,
    check_run_as,
    check_session_document,
    check_session_times,
    no_document,
)
from llm_fleet.rules.problem import Problem, raise_problems

_TAGGABLE = ("AWS::IAM::Role", "AWS::IAM::User")


def tag_session_user(
    role: iam.IRole | iam.Role | iam.IUser | iam.User, user: str, *, known: Sequence[str] | None
) -> None:
    """Give `role` the tag that makes its sessions run as `user`; `known`: the cluster's users, `None` if unknown.

    Raises `FleetError` (LF1219) for a user that the nodes do not have, and for a role that cannot have the tag: one
    created elsewhere, or one that has it already with another user.
    """
    problems = check_run_as(user, known)
    # For a role that is created elsewhere, jsii returns an object that is not a Construct in Python, but has a node.
    if not hasattr(role, "node"):
        raise_problems([*problems, cannot_tag("this is not an IAM role or IAM user", "pass an iam.Role or iam.User")])
    resource = role.node.default_child
    kind = resource.cfn_resource_type if isinstance(resource, cdk.CfnResource) else None
    if kind not in _TAGGABLE:
        problems.append(_elsewhere(user))
        raise_problems(problems, subject=role.node.path)
    tags = cast(iam.CfnRole, resource).tags
    there = tags.tag_values().get(session_facts().tag)
    if there is not None and there != user:
        problems.append(
            cannot_tag(
                f"the sessions of this role already run as {there}; a role can have only one user",
                f"create another role for {user}",
            )
        )
    raise_problems(problems, subject=role.node.path)
    tags.set_tag(session_facts().tag, user)


def report_session_reasons(role: iam.IRole | iam.Role | iam.IUser | iam.User) -> None:
    """Acknowledge the cdk-nag findings on wildcards in the session permissions of `role`."""
    stack = cdk.Stack.of(role)
    report_reasons(
        cast(iam.IGrantable, role),
        {
            # cdk-nag writes a policy variable `${x}` as it does references: `<x>`.
            stack.format_arn(
                service="ssm", resource="session", resource_name="<aws:userid>-*"
            ): "the principal's own sessions, to resume and end them; their ids do not exist before",
            stack.format_arn(
                service="ec2", resource="instance", resource_name="*"
            ): "ParallelCluster's nodes change; the tag of the cluster is a condition",
        },
    )


def _elsewhere(user: str) -> Problem:
    tag = session_facts().tag
    return cannot_tag(
        "this role is created elsewhere, so llm-fleet cannot add a tag to it",
        f"tag it there with {tag}={user} (`aws iam tag-role --role-name NAME --tags Key={tag},Value={user}`), and use "
        "`grants.ssm_session` with `documents`",
    )


def use_sessions(key_arn: str) -> tuple[Permission, ...]:
    """Return the permissions of users whose sessions are encrypted with the key."""
    return (
        Permission(
            sid="SessionKey",
            actions=("kms:GenerateDataKey",),
            resources=(key_arn,),
            reason="the principal that starts a session creates its data key",
        ),
    )


def keep_sessions(
    *, key_arn: str | None, log_group_arn: str | None, bucket: BucketAccess | None
) -> tuple[Permission, ...]:
    """Return the permissions of nodes for sessions with a key or logs; none without any of them."""
    return (*_decrypt(key_arn), *_into_log_group(log_group_arn), *_into_bucket(bucket))


def _decrypt(key_arn: str | None) -> tuple[Permission, ...]:
    if key_arn is None:
        return ()
    reason = "the node decrypts what the user's side of a session has encrypted"
    return (Permission(sid="SessionKey", actions=("kms:Decrypt",), resources=(key_arn,), reason=reason),)


def _into_log_group(arn: str | None) -> tuple[Permission, ...]:
    if arn is None:
        return ()
    return (
        Permission(
            sid="SessionLog",
            actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
            resources=(arn,),
            reason="the node writes input and output into a log stream for each session",
        ),
        Permission(
            sid="SessionLogLook",
            actions=("logs:DescribeLogGroups",),
            resources=("*",),
            reason="the agent checks whether the log group exists and is encrypted; the action supports no resource",
        ),
    )


def _into_bucket(bucket: BucketAccess | None) -> tuple[Permission, ...]:
    if bucket is None:
        return ()
    look = Permission(
        sid="SessionBucketLook",
        actions=("s3:GetEncryptionConfiguration",),
        resources=(bucket.bucket_arn,),
        reason="the agent checks the bucket's encryption before it writes",
    )
    write = Permission(
        sid="SessionBucket",
        actions=("s3:PutObject",),
        resources=(bucket.objects_arn,),
        reason="the node uploads the log of each session when it ends, under an id that does not exist before",
    )
    if bucket.key_arn is None:
        return (look, write)
    # A long log is a multipart upload, whose parts S3 decrypts to assemble them.
    key = Permission(
        sid="SessionBucketKey",
        actions=("kms:Decrypt", "kms:GenerateDataKey"),
        resources=(bucket.key_arn,),
        reason="the bucket is encrypted with its own KMS key",
    )
    return (look, write, key)


class SessionDocument(Construct):
    """A session document (`AWS::SSM::Document` of type `Session`) whose sessions run as a user of the node (Run As).

    A session runs as the user in the tag `SSMSessionRunAs` of the caller's IAM role or user. Without the tag, no
    session starts: there is no fallback to `ssm-user`, who can become root. `cluster.grants.session_as` sets the tag. A
    principal that can tag that role can become any user: grant `iam:TagRole` to administrators only.

    It works with nodes of ParallelCluster and of HyperPod; for the latter try it with one role first.
    assumption: hyperpod-run-as
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        idle_timeout_minutes: int = 20,
        max_minutes: int | None = None,
        log_group: logs.ILogGroup | logs.LogGroup | None = None,
        log_group_is_encrypted: bool = True,
        log_bucket: s3.IBucket | s3.Bucket | None = None,
        log_prefix: str = "sessions",
        key: kms.IKey | kms.Key | None = None,
    ) -> None:
        """Create the document; raise `FleetError` (LF1220) for values that Session Manager rejects.

        `idle_timeout_minutes`: without input, 1 to 60. `max_minutes`: of a session, 1 to 1440; default, no limit.

        `log_group`: receives input and output during the session. `log_group_is_encrypted`: sessions do not start
        when it has no KMS key; default, yes. `log_bucket`: receives them at the session's end, below `log_prefix`.
        Default of both: no log; CloudTrail then records only who started a session and when.

        `key`: encrypts the session end to end, within TLS. Default: TLS only.
        """
        super().__init__(scope, id)
        problems = [
            *check_session_times(idle_minutes=idle_timeout_minutes, duration_minutes=max_minutes),
            *check_session_document(
                {
                    "log_group": log_group,
                    "log_group_is_encrypted": log_group_is_encrypted,
                    "log_bucket": log_bucket,
                    "log_prefix": log_prefix,
                    "key": key,
                }
            ),
        ]
        raise_problems(problems, subject=self.node.path)
        self._log_group, self._log_bucket, self._log_prefix, self._key = log_group, log_bucket, log_prefix, key
        inputs: dict[str, Any] = {
            "s3BucketName": log_bucket.bucket_name if log_bucket else "",
            "s3KeyPrefix": log_prefix if log_bucket else "",
            # S3 encrypts every object since 2023; Session Manager must not require less.
            "s3EncryptionEnabled": True,
            "cloudWatchLogGroupName": log_group.log_group_name if log_group else "",
            "cloudWatchEncryptionEnabled": log_group_is_encrypted,
            "cloudWatchStreamingEnabled": log_group is not None,
            "kmsKeyId": key.key_arn if key else "",
            "idleSessionTimeout": str(idle_timeout_minutes),
            "maxSessionDuration": "" if max_minutes is None else str(max_minutes),
            "runAsEnabled": True,
            # No default user: a role without the tag gets no session, rather than another user's account.
            "runAsDefaultUser": "",
            "shellProfile": {"linux": "cd"},
        }
        self.resource: ssm.CfnDocument = ssm.CfnDocument(
            self,
            "Resource",
            document_type="Session",
            document_format="JSON",
            # A change creates a new version of the same document, so that the roles' policies stay valid.
            update_method="NewVersion",
            content={
                "schemaVersion": session_facts().schema_version,
                "description": "A shell as the user in the role's tag SSMSessionRunAs (llm-fleet)",
                "sessionType": session_facts().session_type,
                "inputs": inputs,
            },
        )
        """The L1, as an escape hatch."""
        self.document_name: str = self.resource.ref
        """Its name, the `--document-name` of `aws ssm start-session`; a token."""
        self.document_arn: str = cdk.Stack.of(self).format_arn(
            service="ssm", resource="document", resource_name=self.document_name
        )
        """Its ARN, which `ssm:StartSession` is granted on."""

    def grant_use(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let users encrypt their sessions with the key; without a key, nothing is granted."""
        if self._key is None:
            return iam.Grant.drop(grantee, "sessions are not encrypted with a key")
        return grant(grantee, use_sessions(self._key.key_arn))

    def grant_nodes(self, nodes: iam.IGrantable) -> iam.Grant:
        """Let `nodes`, such as a cluster, write the sessions' logs and read what the key encrypts."""
        bucket = self._log_bucket
        return grant(
            nodes,
            keep_sessions(
                key_arn=self._key.key_arn if self._key else None,
                log_group_arn=self._log_group.log_group_arn if self._log_group else None,
                bucket=BucketAccess.of(bucket, prefix=self._log_prefix) if bucket else None,
            ),
        )


def check_is_document(given: object) -> None:
    """Raise `FleetError` (LF1220) unless `given` is a session document of ours."""
    if not isinstance(given, SessionDocument):
        raise_problems([no_document(given)], subject="session_as")


class SessionGrants:
    """Permissions to log in to nodes with Session Manager. Subclasses define the nodes with `_start_sessions`."""

    def __init__(self, scope: IConstruct, users: Sequence[str] | None) -> None:
        """Grant in the stack of `scope`. `users`: login names that exist on the nodes; `None` if unknown."""
        self._stack = cdk.Stack.of(scope)
        self._users = users

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` log in to every node of this cluster, and end or resume its own sessions.

        `documents`: ARNs of the session documents that it may use. Default: the account's `SSM-SessionManagerRunShell`,
        the default of `aws ssm start-session`, without port forwarding and SSH.
        """
        shell = self._arn("ssm", "document", "SSM-SessionManagerRunShell")
        own = ("ssm:ResumeSession", "ssm:TerminateSession", "ssmmessages:OpenDataChannel")
        return self._start_sessions(grantee, documents or [shell]).combine(
            # The last as AWS's sample policies for end users of Session Manager have it.
            iam.Grant.add_to_principal(
                grantee=grantee, actions=list(own), resource_arns=[self._arn("ssm", "session", "${aws:userid}-*")]
            )
        )

    def _start_sessions(self, grantee: iam.IGrantable, documents: Sequence[str]) -> iam.Grant:
        raise NotImplementedError

    def session_as(
        self, role: iam.IRole | iam.Role | iam.IUser | iam.User, user: str, *, document: SessionDocument
    ) -> iam.Grant:
        """Let `role` log in to every node only as `user` of the cluster, with `document`.

        The role gets the tag `SSMSessionRunAs`. Raises `FleetError` (LF1219) for a user that the nodes do not have, and
        for a role that is created elsewhere or has another user.
        """
        check_is_document(document)
        tag_session_user(role, user, known=self._users)
        grantee = cast(iam.IGrantable, role)
        session = self.ssm_session(grantee, documents=[document.document_arn]).combine(document.grant_use(grantee))
        report_session_reasons(role)
        return session

    def _command_arn(self) -> str:
        """AWS's document with which `llm-fleet jobs submit` and `logs` run commands."""
        name = "AWS-StartNonInteractiveCommand"
        return self._stack.format_arn(service="ssm", account="", resource="document", resource_name=name)

    def _arn(self, service: str, resource: str, name: str) -> str:
        return self._stack.format_arn(service=service, resource=resource, resource_name=name)
