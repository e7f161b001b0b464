"""AWS's own provider of clusters: the nested stack whose function makes, changes and deletes them."""

import aws_cdk as cdk
from aws_cdk import CfnStack
from constructs import Construct

from llm_fleet.iam.statements import NamedPolicy


class ClusterProvider(Construct):
    """The provider of AWS ParallelCluster's custom resource, for one cluster.

    One provider a cluster: the function keeps what it answered last between calls, and a warm one that serves two
    clusters may give one the other's public address (`flatten` in custom_resource/cluster.yaml). It also can update
    only clusters of its own version.

    The template makes IAM roles and has a transform: who deploys must grant CAPABILITY_NAMED_IAM and
    CAPABILITY_AUTO_EXPAND. `cdk deploy` does.
    """

    def __init__(self, scope: Construct, id: str, *, version: str, policy: NamedPolicy | None) -> None:
        """Make the provider of ParallelCluster `version`, which may do what `policy` says besides its own policies.

        `policy`: `None` where those are enough.
        """
        super().__init__(scope, id)
        self.resource = CfnStack(
            self,
            "Resource",
            template_url=template_url(cdk.Stack.of(self), version),
            parameters={"AdditionalIamPolicies": policy.arn} if policy else None,
        )
        """The nested stack."""

    @property
    def service_token(self) -> str:
        """The ARN of the function."""
        return self.resource.get_att("Outputs.ServiceToken").to_string()

    @property
    def log_group_arn(self) -> str:
        """The ARN of the function's log group. It is kept for 90 days, and when the cluster goes."""
        return self.resource.get_att("Outputs.LogGroupArn").to_string()


def template_url(stack: cdk.Stack, version: str) -> str:
    """Return where AWS publishes the provider of ParallelCluster `version` for the region of `stack`.

    Source: cloudformation/custom_resource/cluster-1-click.yaml of aws/aws-parallelcluster.
    """
    bucket = f"{stack.region}-aws-parallelcluster"
    host = f"{bucket}.s3.{stack.region}.{stack.url_suffix}"
    return f"https://{host}/parallelcluster/{version}/templates/custom_resource/cluster.yaml"
