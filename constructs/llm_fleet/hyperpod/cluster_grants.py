"""What others may do with a cluster."""

from collections.abc import Sequence
from typing import Protocol, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from llm_fleet.iam.session_document import SessionDocument, check_is_document, tag_session_user, tell_session_reasons
from llm_fleet.iam.statements import tell_reasons

_DESCRIBE = (
    "sagemaker:DescribeCluster",
    "sagemaker:DescribeClusterEvent",
    "sagemaker:DescribeClusterNode",
    "sagemaker:DescribeClusterOperation",
    "sagemaker:ListClusterEvents",
    "sagemaker:ListClusterNodes",
    "sagemaker:ListClusterOperations",
)
_MANAGE_NODES = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
    "sagemaker:StartClusterHealthCheck",
    "sagemaker:UpdateClusterSoftware",
)


class GrantedCluster(Protocol):
    """A cluster that something can be granted on."""

    @property
    def cluster_arn(self) -> str:
        """Its ARN."""
        ...

    @property
    def cluster_id(self) -> str:
        """The end of its ARN, which the ids of its nodes begin with."""
        ...


class ClusterGrants:
    """What others may do with a cluster. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, cluster: GrantedCluster, *, users: Sequence[str] | None = None) -> None:
        """Grant on `cluster`, in the stack of `scope`. `users`: of its nodes; default, nobody knows them."""
        self._stack = cdk.Stack.of(scope)
        self._users = users
        self._cluster = cluster

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` log in to every node of this cluster, and end or resume its own sessions.

        `documents`: ARNs of the session documents that it may use. Default: the account's
        `SSM-SessionManagerRunShell`, which is what `aws ssm start-session` takes, so no port forwarding and no SSH.
        """
        shell = self._ssm_arn("document", "SSM-SessionManagerRunShell")
        start = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=[self._cluster.cluster_arn, self._nodes_arn(), *(documents or [shell])],
            # Without it Session Manager does not ask whether the caller may use the default document.
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        )
        own = iam.Grant.add_to_principal(
            grantee=grantee,
            # The last as AWS's sample policies for end users of Session Manager have it.
            actions=["ssm:ResumeSession", "ssm:TerminateSession", "ssmmessages:OpenDataChannel"],
            resource_arns=[self._ssm_arn("session", "${aws:userid}-*")],
        )
        tell_reasons(grantee, {self._nodes_arn(): "nodes of this cluster alone; their ids do not exist before"})
        return start.combine(own)

    def session_as(
        self, role: iam.IRole | iam.Role | iam.IUser | iam.User, user: str, *, document: SessionDocument
    ) -> iam.Grant:
        """Let `role` log in to every node as `user` of the cluster, and in no other way: by `document` alone.

        The role gets the tag `SSMSessionRunAs`. Raises `FleetError` (LF1219) for a user whom the nodes have not, and
        for a role that is made elsewhere or has another user.
        assumption: hyperpod-run-as
        """
        check_is_document(document)
        tag_session_user(role, user, known=self._users)
        grantee = cast(iam.IGrantable, role)
        session = self.ssm_session(grantee, documents=[document.document_arn]).combine(document.grant_use(grantee))
        tell_session_reasons(role)
        return session

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run commands on every node by Session Manager, which `llm-fleet jobs submit` and `logs` do.

        It can find the nodes, too. A session's commands run as root: whoever has this can do all that a node can.
        """
        return self.ssm_session(grantee, documents=[self._aws_document("AWS-StartNonInteractiveCommand")]).combine(
            self._on_cluster(grantee, ("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"))
        )

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, its nodes, events and operations."""
        return self._on_cluster(grantee, _DESCRIBE)

    def manage_nodes(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, and add, remove, reboot, replace, test and update its nodes.

        It cannot change the cluster's shape or roles: `UpdateCluster` is not among them.
        """
        return self._on_cluster(grantee, (*_DESCRIBE, *_MANAGE_NODES))

    def _on_cluster(self, grantee: iam.IGrantable, actions: Sequence[str]) -> iam.Grant:
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=list(actions), resource_arns=[self._cluster.cluster_arn]
        )

    def _nodes_arn(self) -> str:
        """The nodes as Session Manager's managed instances, whose ids are `sagemaker-cluster:<id>_<group>-<instance>`.

        AWS's own page on HyperPod names this resource for `ssm:StartSession`, and no document names the cluster's ARN,
        so both are granted. assumption: hyperpod-start-session-resource
        """
        return self._ssm_arn("managed-instance", f"sagemaker-cluster:{self._cluster.cluster_id}_*")

    def _aws_document(self, name: str) -> str:
        return self._stack.format_arn(service="ssm", account="", resource="document", resource_name=name)

    def _ssm_arn(self, resource: str, name: str) -> str:
        return self._stack.format_arn(service="ssm", resource=resource, resource_name=name)
