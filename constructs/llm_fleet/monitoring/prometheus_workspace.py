"""A workspace of Amazon Managed Service for Prometheus that nodes write to."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_aps as aps
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics


class PrometheusWorkspace(Construct):
    """A workspace of Amazon Managed Service for Prometheus (`AWS::APS::Workspace`).

    It is retained when its stack goes: what was measured bears witness of runs that are over. Prometheus keeps samples
    for 150 days.
    """

    def __init__(
        self, scope: Construct, id: str, *, alias: str | None = None, encryption_key: kms.IKey | None = None
    ) -> None:
        """Make a workspace.

        `alias`: what the console shows of it; default, none. `encryption_key`: default one of its own, which rotates
        every year and is retained too: without it nothing can be read any more.
        """
        super().__init__(scope, id)
        key = encryption_key or kms.Key(
            self,
            "Key",
            description="Encrypts what nodes of LLM clusters measure of themselves",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        self.encryption_key = cast(kms.IKey, key)
        """What encrypts it."""
        self.resource = aps.CfnWorkspace(self, "Resource", alias=alias, kms_key_arn=self.encryption_key.key_arn)
        """The L1 beneath, as the way out."""
        self.resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)

    @property
    def workspace_arn(self) -> str:
        """Its ARN, a token."""
        return self.resource.attr_arn

    @property
    def metrics(self) -> ClusterMetrics:
        """Where metrics go, for `metrics` of a cluster in the same region: the nodes may then write to it."""
        return ClusterMetrics.prometheus(workspace_arn=self.workspace_arn)

    def add_outputs(self) -> None:
        """Give the stack outputs: its ARN, and the address that Grafana asks."""
        cdk.CfnOutput(self, "WorkspaceArn", value=self.workspace_arn, description="ARN of the Prometheus workspace")
        cdk.CfnOutput(
            self,
            "QueryEndpoint",
            value=self.resource.attr_prometheus_endpoint,
            description="Address of the workspace, as a Prometheus data source of Grafana with SigV4 takes it",
        )
