"""What an endpoint is for those who use it: its name, who may do what with it, its metrics."""

import json
import shlex

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.endpoint import endpoint_settings
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind
from llm_fleet.sagemaker.endpoint.endpoint_grants import EndpointGrants
from llm_fleet.sagemaker.endpoint.endpoint_plan import EndpointPlan

_NAMESPACE = "AWS/SageMaker"
_QUESTION = "The capital of Japan is"


@jsii.implements(ec2.IConnectable)
class EndpointBase(Construct):
    """An endpoint for those who use it. `HuggingFaceEndpoint` sets what is here."""

    endpoint_name: str
    """What callers name: `InvokeEndpoint` takes it."""
    model: sagemaker.CfnModel
    """The L1 of the model."""
    endpoint_config: sagemaker.CfnEndpointConfig
    """The L1 of the configuration."""
    endpoint: sagemaker.CfnEndpoint
    """The L1 of the endpoint."""
    log_group: logs.CfnLogGroup
    """What its containers log into."""
    role: iam.IRole
    """What SageMaker acts as to fetch image and model."""
    security_group: ec2.ISecurityGroup | None
    """Of its instances; `None` for one that stands in no network of yours."""
    _plan: EndpointPlan
    _connections: ec2.Connections | None = None

    @property
    def endpoint_arn(self) -> str:
        """Its ARN, a token."""
        return self.endpoint.ref

    @property
    def grants(self) -> EndpointGrants:
        """What others may do with it."""
        return EndpointGrants(self.endpoint_arn)

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask the model, as `grants.invoke` does."""
        return self.grants.invoke(grantee)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The security group of its instances, for where they may connect to; none without a network.

        Nothing connects to the instances: callers ask SageMaker, which asks them.
        """
        if self._connections is None:
            groups = [self.security_group] if self.security_group else []
            self._connections = ec2.Connections(security_groups=groups)
        return self._connections

    def metric(self, name: str, *, statistic: str = "Average", period_seconds: int = 60) -> cloudwatch.Metric:
        """Return the metric `name` of the endpoint, of the namespace `AWS/SageMaker`."""
        return cloudwatch.Metric(
            namespace=_NAMESPACE,
            metric_name=name,
            dimensions_map={"EndpointName": self.endpoint_name, "VariantName": endpoint_settings().variant},
            statistic=statistic,
            period=cdk.Duration.seconds(period_seconds),
        )

    def metric_invocations(self) -> cloudwatch.Metric:
        """Return how many requests there were."""
        return self.metric("Invocations", statistic="Sum")

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return how long the container took to answer, in microseconds, on average."""
        return self.metric("ModelLatency")

    def metric_server_errors(self) -> cloudwatch.Metric:
        """Return how many requests were answered with 5xx."""
        return self.metric("Invocation5XXErrors", statistic="Sum")

    @property
    def invoke_command(self) -> str:
        """A line for the AWS CLI that asks the model something and prints the answer."""
        body = shlex.quote(json.dumps(_body(self._plan.kind)))
        return (
            f"aws sagemaker-runtime invoke-endpoint --region {cdk.Stack.of(self).region} "
            f"--endpoint-name {self.endpoint_name} --content-type application/json "
            f"--cli-binary-format raw-in-base64-out --body {body} /dev/stdout"
        )

    def add_outputs(self) -> None:
        """Give the stack outputs: the endpoint's name, how to ask it, and what else an operator asks for."""
        outputs = {
            "EndpointName": (self.endpoint_name, "Name of the endpoint, for InvokeEndpoint"),
            "InvokeCommand": (self.invoke_command, "Asks the model something"),
            "LogGroupName": (self.log_group.ref, "CloudWatch log group of the containers"),
        }
        for name, (value, description) in outputs.items():
            cdk.CfnOutput(self, name, value=value, description=description)


def _body(kind: EndpointImageKind | None) -> dict[str, object]:
    """Return a request as the image takes it: vLLM an OpenAI completion, the others `inputs`."""
    if kind is EndpointImageKind.VLLM:
        return {"prompt": _QUESTION, "max_tokens": 16}
    return {"inputs": _QUESTION}
