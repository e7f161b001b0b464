"""What others may do with a cluster."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from llm_fleet.iam.session_document import SessionDocument, check_is_document, tag_session_user, tell_session_reasons

NAME_TAG = "parallelcluster:cluster-name"
"""The tag that ParallelCluster gives every instance of a cluster (`PCLUSTER_CLUSTER_NAME_TAG`)."""


class ClusterGrants:
    """What others may do with a cluster. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, cluster_name: str, *, users: Sequence[str] | None = None) -> None:
        """Grant on the cluster of that name, in the stack of `scope`. `users`: its nodes'; default, not known."""
        self._stack = cdk.Stack.of(scope)
        self._users = users
        self._cluster_name = cluster_name

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` log in to every node of this cluster, and end or resume its own sessions.

        `documents`: ARNs of the session documents that it may use. Default: the account's
        `SSM-SessionManagerRunShell`, which is what `aws ssm start-session` takes, so no port forwarding and no SSH.
        """
        start = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=[self._arn("ec2", "instance", "*")],
            conditions={"StringEquals": {f"ssm:resourceTag/{NAME_TAG}": self._cluster_name}},
        )
        use = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=list(documents or [self._arn("ssm", "document", "SSM-SessionManagerRunShell")]),
            # Without it Session Manager does not ask whether the caller may use the default document.
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        )
        own = iam.Grant.add_to_principal(
            grantee=grantee,
            # The last as AWS's sample policies for end users of Session Manager have it.
            actions=["ssm:ResumeSession", "ssm:TerminateSession", "ssmmessages:OpenDataChannel"],
            resource_arns=[self._arn("ssm", "session", "${aws:userid}-*")],
        )
        return start.combine(use).combine(own)

    def session_as(
        self, role: iam.IRole | iam.Role | iam.IUser | iam.User, user: str, *, document: SessionDocument
    ) -> iam.Grant:
        """Let `role` log in to every node as `user` of the cluster, and in no other way: by `document` alone.

        The role gets the tag `SSMSessionRunAs`. Raises `FleetError` (LF1219) for a user whom the nodes have not, and
        for a role that is made elsewhere or has another user.
        """
        check_is_document(document)
        tag_session_user(role, user, known=self._users)
        grantee = cast(iam.IGrantable, role)
        session = self.ssm_session(grantee, documents=[document.document_arn]).combine(document.grant_use(grantee))
        tell_session_reasons(role)
        return session

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run commands on every node by Session Manager, which `llm-fleet jobs submit` and `logs` do.

        It can find the head node, too, for which EC2 lets it see all instances of the account: the action knows no
        resource. A session's commands may be run as root: whoever has this can do all that a node can.
        """
        document = self._stack.format_arn(
            service="ssm", account="", resource="document", resource_name="AWS-StartNonInteractiveCommand"
        )
        session = self.ssm_session(grantee, documents=[document])
        find = iam.Grant.add_to_principal(grantee=grantee, actions=["ec2:DescribeInstances"], resource_arns=["*"])
        return session.combine(find)

    def _arn(self, service: str, resource: str, name: str) -> str:
        return self._stack.format_arn(service=service, resource=resource, resource_name=name)
