"""The load balancer in front of a service, with security group, listeners, API key, AWS WAF and logs."""

from collections.abc import Mapping

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import front_facts
from llm_fleet.inference.front_access import (
    ApiKey,
    FrontLogs,
    FrontSecurityGroup,
    ListenerRules,
    WebAcl,
    default_answer,
)
from llm_fleet.network.network import Network
from llm_fleet.references import region_of
from llm_fleet.rules.inference.front import check_front, check_front_place
from llm_fleet.rules.inference.routes import NOT_FOUND, routes
from llm_fleet.rules.problem import is_unresolved, raise_problems
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.service import Authentication, Front


def load_balancer_attributes(*, longest_answer_seconds: int, log_bucket: str, log_prefix: str) -> dict[str, str]:
    """Return the attributes of the load balancer.

    A connection is idle until an answer without streaming is complete, so the idle timeout is the longest answer, but
    at least the default of 60 s: new connections cost more than idle ones.
    """
    facts = front_facts()
    idle = longest_answer_seconds
    if not is_unresolved(idle):
        idle = max(facts.idle_timeout_default_seconds, idle)
    return {
        "idle_timeout.timeout_seconds": str(idle),
        "client_keep_alive.seconds": str(facts.client_keep_alive_seconds),
        # It has no state, and deletion protection would prevent the deletion of the stack.
        "deletion_protection.enabled": "false",
        "routing.http.drop_invalid_header_fields.enabled": "true",
        "routing.http.desync_mitigation_mode": "strictest",
        "routing.http2.enabled": "true",
        # Fail closed: a request that WAF cannot evaluate is rejected.
        "waf.fail_open.enabled": "false",
        "access_logs.s3.enabled": "true",
        "access_logs.s3.bucket": log_bucket,
        "access_logs.s3.prefix": log_prefix,
        "connection_logs.s3.enabled": "true",
        "connection_logs.s3.bucket": log_bucket,
        "connection_logs.s3.prefix": log_prefix,
    }


def target_group_attributes(*, longest_answer_seconds: int) -> dict[str, str]:
    """Return the attributes of the target group.

    Answers take from a second to minutes, so requests go to the target with the fewest outstanding requests. That
    algorithm does not support slow start, and a server with a loaded model does not need it.
    """
    return {
        "deregistration_delay.timeout_seconds": str(longest_answer_seconds),
        "load_balancing.algorithm.type": "least_outstanding_requests",
        "slow_start.duration_seconds": "0",
        "stickiness.enabled": "false",
    }


_HTTP, _HTTPS = 80, 443


@jsii.implements(ec2.IConnectable)
class LoadBalancerFront(Construct):
    """An Application Load Balancer that forwards only `/v1/*` and health checks.

    With a certificate it uses HTTPS. It requires credentials, waits as long as the longest answer, logs to S3 and is
    protected by AWS WAF. Requests without a matching route get an error in OpenAI's format.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        front: Front,
        server: ServerKind,
        served_name: str,
        target_port: int,
        service_name: str,
        health_path: str = "/health",
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        log_retention_days: int = 90,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Create the load balancer. Raises `FleetError` (LF740 to LF757) with all problems.

        - `network`: it uses the private or public subnets of at least two AZs.
        - `front`: the load balancer's settings.
        - `server`: the model server; which paths are safe to forward depends on the paths that its key protects.
        - `served_name`: value of `model` in requests of clients.
        - `target_port`, `health_path`: port of the server, and its path that returns 200 when it is healthy.
        - `service_name`: used in names of descriptions and logs.
        - `encryption_key`: encrypts the API key and the WAF log; its policy must let CloudWatch Logs use it. Default:
          the services' own keys.
        - `access_log_bucket`: a bucket with SSE-S3 encryption; see `FrontLogs`. Default: a new one.
        - `log_retention_days`: retention of the WAF log. Default: 90 days.
        - `removal_policy`: of a new bucket. Default: retained.
        """
        subnets = network.load_balancer_subnets(public=front.public is True)
        raise_problems(
            [
                *(problem.under("front") for problem in check_front(front, region=region_of(scope))),
                *check_front_place(
                    front,
                    zones=tuple(subnets),
                    target_zones=network.availability_zone_ids,
                    vpc_cidrs=network.cidrs,
                    internet=network.internet,
                ),
            ],
            subject=f"{scope.node.path}/{id}",
        )
        super().__init__(scope, id)
        self._front = front
        self._target_port = target_port
        self._make_key(service_name, encryption_key)
        https = front.certificate_arn is not None
        self._security_group = FrontSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            cidrs=tuple(front.allowed_cidrs) or network.cidrs,
            ports=(_HTTPS, _HTTP) if https else (_HTTP,),
            fetches_keys=front.authentication is Authentication.JWT,
        )
        self.logs = FrontLogs(
            self, "Logs", service_name=service_name, bucket=access_log_bucket, removal_policy=removal_policy
        )
        """The bucket of its logs."""
        self.load_balancer = self._make_load_balancer(network, subnets)
        """The L1 construct of the load balancer."""
        self.target_group = self._make_target_group(network, health_path)
        """The L1 construct of the target group, with target type `ip`."""
        self.listener = self._make_listener()
        """The L1 construct of the main listener; with a certificate, another one on port 80 redirects to it."""
        self.listener_rules = ListenerRules(
            self,
            "Rules",
            listener_arn=self.listener.ref,
            target_group_arn=self.target_group.ref,
            routes=routes(front.authentication, server=server, served_name=served_name, health_path=health_path),
            jwt=front.jwt,
        )
        """Rules of the main listener."""
        self.web_acl = WebAcl(
            self,
            "WebAcl",
            service_name=service_name,
            load_balancer_arn=self.load_balancer.ref,
            requests_per_five_minutes=front.requests_per_five_minutes,
            retention_days=log_retention_days,
            encryption_key=encryption_key,
        )
        """The AWS WAF web ACL."""

    @property
    def url(self) -> str:
        """`base_url` of OpenAI clients; ends with `/v1`."""
        scheme = "https" if self._front.certificate_arn is not None else "http"
        return f"{scheme}://{self._front.domain_name or self.load_balancer_dns_name}/v1"

    @property
    def load_balancer_dns_name(self) -> str:
        """The load balancer's DNS name, for an alias or CNAME record of `domain_name`."""
        return self.load_balancer.attr_dns_name

    @property
    def load_balancer_full_name(self) -> str:
        """Value of the metric dimension `LoadBalancer`."""
        return self.load_balancer.attr_load_balancer_full_name

    @property
    def target_group_arn(self) -> str:
        """Target group ARN for an ECS service."""
        return self.target_group.ref

    @property
    def target_group_full_name(self) -> str:
        """Value of the metric dimension `TargetGroup`."""
        return self.target_group.attr_target_group_full_name

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The load balancer's security group."""
        return self._security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`."""
        return self._security_group.connections

    @property
    def key_command(self) -> str | None:
        """A command that prints the API key for users who can read the secret; `None` without a key."""
        if self.api_key_secret is None:
            return None
        return (
            f"aws secretsmanager get-secret-value --region {cdk.Stack.of(self).region} "
            f"--secret-id {self.api_key_secret.secret_arn} --query SecretString --output text"
        )

    @property
    def dependencies(self) -> IDependable:
        """An ECS service must depend on these: ECS rejects a target group without a listener."""
        return DependencyGroup(self.listener, self.listener_rules, self.web_acl.association)

    def allow_targets(self, targets: ec2.ISecurityGroup) -> None:
        """Let the load balancer connect to `targets` on the target port. Call it once."""
        self._security_group.allow_targets(targets, self._target_port)

    def _make_key(self, service_name: str, encryption_key: kms.IKey | None) -> None:
        self.api_key_secret: secretsmanager.ISecret | None = None
        """The secret whose value is the API key; `None` without a key."""
        if self._front.authentication is not Authentication.API_KEY:
            return
        arn = self._front.api_key_secret_arn
        if arn is not None:
            self.api_key_secret = secretsmanager.Secret.from_secret_complete_arn(self, "ApiKey", arn)
            return
        self.api_key_secret = ApiKey(self, "ApiKey", service_name=service_name, encryption_key=encryption_key).secret

    def _make_load_balancer(self, network: Network, subnets: Mapping[str, ec2.ISubnet]) -> elbv2.CfnLoadBalancer:
        attributes = load_balancer_attributes(
            longest_answer_seconds=self._front.longest_answer_seconds,
            log_bucket=self.logs.bucket.bucket_name,
            log_prefix=self.logs.prefix,
        )
        load_balancer = elbv2.CfnLoadBalancer(
            self,
            "Resource",
            type="application",
            scheme="internet-facing" if self._front.public else "internal",
            ip_address_type="ipv4",
            subnets=[subnet.subnet_id for subnet in subnets.values()],
            security_groups=[self._security_group.security_group_id],
            load_balancer_attributes=[
                elbv2.CfnLoadBalancer.LoadBalancerAttributeProperty(key=key, value=value)
                for key, value in attributes.items()
            ],
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )
        # An internet-facing load balancer requires an attached internet gateway.
        load_balancer.node.add_dependency(network.connectivity, *self.logs.writable)
        acknowledge(
            load_balancer,
            "a load balancer has no state, and deletion protection would make the stack's deletion fail; the stack's "
            "own termination protection protects the whole service",
            "NIST.800.53.R5-ELBDeletionProtectionEnabled",
        )
        return load_balancer

    def _make_target_group(self, network: Network, health_path: str) -> elbv2.CfnTargetGroup:
        check = front_facts().health_check
        return elbv2.CfnTargetGroup(
            self,
            # A load balancer with another scheme is created before the old one is deleted, and a target group has only
            # one at a time (botocore's elbv2, TargetGroupAssociationLimitException): so each scheme has its own group.
            "PublicTargets" if self._front.public else "Targets",
            vpc_id=network.vpc.vpc_id,
            target_type="ip",
            protocol="HTTP",
            protocol_version="HTTP1",
            port=self._target_port,
            health_check_enabled=True,
            health_check_path=health_path,
            health_check_interval_seconds=check.interval_seconds,
            health_check_timeout_seconds=check.timeout_seconds,
            healthy_threshold_count=check.healthy_threshold,
            unhealthy_threshold_count=check.unhealthy_threshold,
            matcher=elbv2.CfnTargetGroup.MatcherProperty(http_code="200"),
            target_group_attributes=[
                elbv2.CfnTargetGroup.TargetGroupAttributeProperty(key=key, value=value)
                for key, value in target_group_attributes(
                    longest_answer_seconds=self._front.longest_answer_seconds
                ).items()
            ],
            tags=[cdk.CfnTag(key="Name", value=self.node.path)],
        )

    def _make_listener(self) -> elbv2.CfnListener:
        certificate = self._front.certificate_arn
        http = self._make_http_listener(redirects=certificate is not None)
        if certificate is None:
            return http
        return elbv2.CfnListener(
            self,
            "Https",
            load_balancer_arn=self.load_balancer.ref,
            port=_HTTPS,
            protocol="HTTPS",
            ssl_policy=front_facts().tls_policy,
            certificates=[elbv2.CfnListener.CertificateProperty(certificate_arn=certificate)],
            default_actions=[default_answer(NOT_FOUND)],
        )

    def _make_http_listener(self, *, redirects: bool) -> elbv2.CfnListener:
        """Create the listener on port 80.

        It is one construct with and without a certificate, so that it is updated in place: two of them would conflict
        on the port (botocore's model of elbv2, DuplicateListenerException).
        """
        listener = elbv2.CfnListener(
            self,
            "Http",
            load_balancer_arn=self.load_balancer.ref,
            port=_HTTP,
            protocol="HTTP",
            default_actions=[_to_https() if redirects else default_answer(NOT_FOUND)],
        )
        if redirects:
            acknowledge(
                listener,
                "it redirects all clients to the listener with the certificate, and forwards nothing",
                "NIST.800.53.R5-ELBv2ACMCertificateRequired",
            )
            return listener
        acknowledge(
            listener,
            "`plain_http` is set; with a certificate there is no plain HTTP",
            "NIST.800.53.R5-ALBHttpToHttpsRedirection",
            "NIST.800.53.R5-ELBv2ACMCertificateRequired",
        )
        return listener


def _to_https() -> elbv2.CfnListener.ActionProperty:
    return elbv2.CfnListener.ActionProperty(
        type="redirect",
        redirect_config=elbv2.CfnListener.RedirectConfigProperty(
            protocol="HTTPS", port=str(_HTTPS), status_code="HTTP_301"
        ),
    )
