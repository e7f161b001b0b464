"""What others may do with an endpoint."""

from aws_cdk import aws_iam as iam


class EndpointGrants:
    """What others may do with an endpoint. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, endpoint_arn: str) -> None:
        """Grant on the endpoint of that ARN."""
        self._arn = endpoint_arn

    def invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask the model, for a whole answer or for a stream."""
        return self._grant(grantee, "sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream")

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the endpoint and its state."""
        return self._grant(grantee, "sagemaker:DescribeEndpoint")

    def _grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[self._arn])
