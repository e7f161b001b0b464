"""Sessions on nodes that run as whoever the role's tag names, with an end and a log."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from llm_fleet.catalog.nodes import session_facts
from llm_fleet.iam.access import BucketAccess
from llm_fleet.iam.granted import grant
from llm_fleet.iam.session_permissions import keep_sessions, use_sessions
from llm_fleet.rules.people.kinds import check_session_kinds, no_document
from llm_fleet.rules.people.sessions import check_session_times
from llm_fleet.rules.problem import raise_problems


class SessionDocument(Construct):
    """A session document (`AWS::SSM::Document` of type `Session`) whose sessions run as a user of the node (Run As).

    Who starts a session runs as the user in the tag `SSMSessionRunAs` of their IAM role or user. Without the tag, no
    session starts: there is no way back to `ssm-user`, who can become root. `cluster.grants.session_as` sets the tag.
    Whoever may tag that role may be anyone: `iam:TagRole` belongs to administrators alone.

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
        """Make the document; raise `FleetError` (LF1220) for what Session Manager does not take.

        `idle_timeout_minutes`: without a key pressed, 1 to 60. `max_minutes`: of a session, 1 to 1440; default, no end.

        `log_group`: where what people type and see goes while they do. `log_group_is_encrypted`: sessions do not start
        when it has no KMS key; default, yes. `log_bucket`: where it goes at the session's end, below `log_prefix`.
        Default of both: nowhere; CloudTrail then tells who came and when, and nothing more.

        `key`: encrypts the session between the two ends, within TLS. Default: TLS alone.
        """
        super().__init__(scope, id)
        problems = [
            *check_session_times(idle_minutes=idle_timeout_minutes, duration_minutes=max_minutes),
            *check_session_kinds(
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
            # S3 encrypts every object since 2023; Session Manager must not be the one to ask for less.
            "s3EncryptionEnabled": True,
            "cloudWatchLogGroupName": log_group.log_group_name if log_group else "",
            "cloudWatchEncryptionEnabled": log_group_is_encrypted,
            "cloudWatchStreamingEnabled": log_group is not None,
            "kmsKeyId": key.key_arn if key else "",
            "idleSessionTimeout": str(idle_timeout_minutes),
            "maxSessionDuration": "" if max_minutes is None else str(max_minutes),
            "runAsEnabled": True,
            # Nobody: a role without the tag gets no session, rather than another's account.
            "runAsDefaultUser": "",
            "shellProfile": {"linux": "cd"},
        }
        self.resource: ssm.CfnDocument = ssm.CfnDocument(
            self,
            "Resource",
            document_type="Session",
            document_format="JSON",
            # A change makes a new version of the same document, so that the roles' policies go on naming it.
            update_method="NewVersion",
            content={
                "schemaVersion": session_facts().schema_version,
                "description": "A shell as the user in the role's tag SSMSessionRunAs (llm-fleet)",
                "sessionType": session_facts().session_type,
                "inputs": inputs,
            },
        )
        """The L1 beneath, as the way out."""
        self.document_name: str = self.resource.ref
        """Its name, the `--document-name` of `aws ssm start-session`; a token."""
        self.document_arn: str = cdk.Stack.of(self).format_arn(
            service="ssm", resource="document", resource_name=self.document_name
        )
        """Its ARN, which `ssm:StartSession` is granted on."""

    def grant_use(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let people encrypt their sessions with the key; without a key, nothing is granted."""
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
