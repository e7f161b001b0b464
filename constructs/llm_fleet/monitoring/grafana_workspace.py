"""A workspace of Amazon Managed Grafana that reads what nodes measure."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_grafana as grafana
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards

_SERVICE = "grafana.amazonaws.com"
_QUERIES = ("aps:QueryMetrics", "aps:GetLabels", "aps:GetSeries", "aps:GetMetricMetadata", "aps:DescribeWorkspace")
_WHY = "Grafana's page of data sources lists the workspaces of the account; the action knows no single one"


class GrafanaWorkspace(Construct):
    """A workspace of Amazon Managed Grafana (`AWS::Grafana::Workspace`) with the right to ask one Prometheus workspace.

    People sign in by IAM Identity Center, which must be there in the account's organisation: who may is told in the
    console or by `aws grafana update-permissions`, since CloudFormation has nothing for it. Grafana is paid for each
    person who signs in. The dashboard to import is `examples/grafana/llm-fleet-cluster.json`.
    """

    def __init__(self, scope: Construct, id: str, *, name: str, prometheus_arn: str) -> None:
        """Make a workspace called `name` that may ask the Prometheus workspace `prometheus_arn`, and no other."""
        super().__init__(scope, id)
        account = cdk.Stack.of(self).account
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What Grafana may ask of a Prometheus workspace",
            statements=[
                iam.PolicyStatement(sid="Ask", actions=list(_QUERIES), resources=[prometheus_arn]),
                iam.PolicyStatement(sid="Find", actions=["aps:ListWorkspaces"], resources=["*"]),
            ],
        )
        acknowledge_wildcards(policy, lambda: {"*": _WHY})
        principal = iam.ServicePrincipal(_SERVICE, conditions={"StringEquals": {"aws:SourceAccount": account}})
        role = iam.Role(
            self,
            "Role",
            description="Lets Grafana ask a Prometheus workspace",
            assumed_by=cast(iam.IPrincipal, principal),
            managed_policies=[cast(iam.IManagedPolicy, policy)],
        )
        self.resource = grafana.CfnWorkspace(
            self,
            "Resource",
            name=name,
            account_access_type="CURRENT_ACCOUNT",
            authentication_providers=["AWS_SSO"],
            permission_type="CUSTOMER_MANAGED",
            data_sources=["PROMETHEUS"],
            role_arn=role.role_arn,
        )
        """The L1 beneath, as the way out."""

    def add_outputs(self) -> None:
        """Give the stack an output: where people sign in."""
        cdk.CfnOutput(self, "Address", value=self.resource.attr_endpoint, description="Where people open Grafana")
