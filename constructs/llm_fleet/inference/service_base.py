"""What a service is for those who use it: its address, its key, who may do what with it, its metrics."""

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.inference.load_balancer_front import LoadBalancerFront
from llm_fleet.inference.service_grants import ServiceGrants
from llm_fleet.inference.service_sight import ServiceSight


@jsii.implements(ec2.IConnectable)
class ServiceBase(Construct):
    """A service for those who use it. `InferenceService` sets what is here."""

    service_name: str
    """Its name, and its cluster's."""
    model_name: str
    """What clients write as `model`."""
    front: LoadBalancerFront
    """The load balancer with all that belongs to it."""
    service: ecs.CfnService
    """The L1 of the ECS service."""
    log_group: logs.CfnLogGroup
    """What its hosts and containers log into."""
    sight: ServiceSight
    """Its metrics, alarms, dashboard and scaling."""
    _connections: ec2.Connections | None = None

    @property
    def url(self) -> str:
        """What clients take as base URL: it ends with `/v1`. A token, unless the front has a `domain_name`."""
        return self.front.url

    @property
    def api_key_secret(self) -> secretsmanager.ISecret | None:
        """The secret whose text is the API key; `None` where the front asks for none."""
        return self.front.api_key_secret

    @property
    def cluster_name(self) -> str:
        """Name of its ECS cluster."""
        return self.service_name

    @property
    def service_arn(self) -> str:
        """ARN of the ECS service, a token."""
        return self.service.ref

    @property
    def grants(self) -> ServiceGrants:
        """What others may do with it."""
        return ServiceGrants(self, self)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The load balancer's security group, and the port it serves at as default: who may come in, and from where."""
        if self._connections is None:
            port = ec2.Port.tcp(int(self.front.listener.port or 0))
            self._connections = ec2.Connections(security_groups=[self.front.security_group], default_port=port)
        return self._connections

    def metric_waiting(self) -> cloudwatch.IMetric:
        """Return how many requests wait in a task on average."""
        return self.sight.metrics.waiting().as_cloudwatch()

    def metric_requests_in_task(self) -> cloudwatch.IMetric:
        """Return how many requests a task has on average, waiting and running: what scaling follows."""
        return self.sight.metrics.requests_in_task().as_cloudwatch()

    def metric_time_to_first_token(self) -> cloudwatch.IMetric:
        """Return the average seconds until the first token."""
        return self.sight.metrics.time_to_first_token().as_cloudwatch()

    def metric_server_errors(self) -> cloudwatch.IMetric:
        """Return how many requests servers answered with 5xx."""
        return self.sight.metrics.server_errors().as_cloudwatch()

    def metric_unhealthy_hosts(self) -> cloudwatch.IMetric:
        """Return how many tasks did not answer the load balancer's health checks."""
        return self.sight.metrics.unhealthy_hosts().as_cloudwatch()

    def add_outputs(self) -> None:
        """Give the stack outputs: base URL, model name, how to read the key, and what else an operator asks for."""
        outputs: dict[str, tuple[str | None, str]] = {
            "Url": (self.url, "Base URL for OpenAI clients"),
            "ModelName": (self.model_name, "What clients write as model"),
            "ApiKeySecretArn": (
                self.api_key_secret.secret_arn if self.api_key_secret else None,
                "Secret whose text is the API key",
            ),
            "ApiKeyCommand": (self.front.key_command, "Prints the API key"),
            "LoadBalancerDnsName": (self.front.load_balancer_dns_name, "Where a DNS name of your own leads"),
            "ClusterName": (self.cluster_name, "Name of the ECS cluster"),
            "ServiceName": (self.service.attr_name, "Name of the ECS service"),
            "LogGroupName": (self.log_group.ref, "CloudWatch log group of hosts and containers"),
        }
        for name, (value, description) in outputs.items():
            if value is not None:
                cdk.CfnOutput(self, name, value=value, description=description)
