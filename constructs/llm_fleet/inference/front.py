"""The load balancer in front of a service, with all that belongs to it."""

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

    An answer that is not streamed is silence on the connection until it is whole, so the idle timeout is the longest
    answer. The load balancer's own 60 s remain the least: new connections cost more than idle ones.
    """
    facts = front_facts()
    idle = longest_answer_seconds
    if not is_unresolved(idle):
        idle = max(facts.idle_timeout_default_seconds, idle)
    return {
        "idle_timeout.timeout_seconds": str(idle),
        "client_keep_alive.seconds": str(facts.client_keep_alive_seconds),
        # Nothing in it is state, and a stack that cannot be deleted helps nobody.
        "deletion_protection.enabled": "false",
        "routing.http.drop_invalid_header_fields.enabled": "true",
        "routing.http.desync_mitigation_mode": "strictest",
        "routing.http2.enabled": "true",
        # A request that WAF cannot judge is refused.
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

    Answers take a second or minutes, so requests go where the fewest are under way. Slow start, of which that
    algorithm knows nothing, stays off: a server that has loaded its model is as fast as it will be.
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
    """An Application Load Balancer that lets `/v1/*` and health checks through, and nothing else.

    With a certificate it speaks HTTPS. It asks for credentials, waits as long as an answer may take, logs to S3 and
    stands behind AWS WAF. What no route fits gets an error in the form of OpenAI's.
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
        """Make the front, or raise `FleetError` (LF740 to LF757) with all that is wrong with it.

        - `network`: where it stands; in its private subnets, or its public ones, of two AZs at least.
        - `front`: how clients reach it.
        - `server`: what is behind it; which paths are safe to forward depends on what its key covers.
        - `served_name`: what clients write as `model`.
        - `target_port`, `health_path`: where the server listens, and what it answers 200 to when it is well.
        - `service_name`: what descriptions and logs are named after.
        - `encryption_key`: of the API key and of what WAF logs; its policy must let CloudWatch Logs use it. Default:
          the services' own keys.
        - `access_log_bucket`: a bucket with S3's own encryption; see `FrontLogs`. Default: one is made.
        - `log_retention_days`: how long what WAF blocked is kept. Default: 90 days.
        - `removal_policy`: of a bucket that is made. Default: retained.
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
        """Where it logs to."""
        self.load_balancer = self._make_load_balancer(network, subnets)
        """The L1 of the load balancer."""
        self.target_group = self._make_target_group(network, health_path)
        """The L1 of the target group, which takes addresses of tasks."""
        self.listener = self._make_listener()
        """The L1 of the listener that serves; beside it, with a certificate, one at 80 sends clients to it."""
        self.listener_rules = ListenerRules(
            self,
            "Rules",
            listener_arn=self.listener.ref,
            target_group_arn=self.target_group.ref,
            routes=routes(front.authentication, server=server, served_name=served_name, health_path=health_path),
            jwt=front.jwt,
        )
        """What passes."""
        self.web_acl = WebAcl(
            self,
            "WebAcl",
            service_name=service_name,
            load_balancer_arn=self.load_balancer.ref,
            requests_per_five_minutes=front.requests_per_five_minutes,
            retention_days=log_retention_days,
            encryption_key=encryption_key,
        )
        """AWS WAF before it."""

    @property
    def url(self) -> str:
        """What OpenAI's clients take as `base_url`; ends with `/v1`."""
        scheme = "https" if self._front.certificate_arn is not None else "http"
        return f"{scheme}://{self._front.domain_name or self.load_balancer_dns_name}/v1"

    @property
    def load_balancer_dns_name(self) -> str:
        """The load balancer's own name, for an alias or CNAME record of `domain_name`."""
        return self.load_balancer.attr_dns_name

    @property
    def load_balancer_full_name(self) -> str:
        """What metrics of the load balancer have as `LoadBalancer`."""
        return self.load_balancer.attr_load_balancer_full_name

    @property
    def target_group_arn(self) -> str:
        """The ARN that an ECS service is told."""
        return self.target_group.ref

    @property
    def target_group_full_name(self) -> str:
        """What metrics of the target group have as `TargetGroup`."""
        return self.target_group.attr_target_group_full_name

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The load balancer's group."""
        return self._security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`."""
        return self._security_group.connections

    @property
    def key_command(self) -> str | None:
        """A command that prints the API key, for who may read the secret; `None` without a key."""
        if self.api_key_secret is None:
            return None
        return (
            f"aws secretsmanager get-secret-value --region {cdk.Stack.of(self).region} "
            f"--secret-id {self.api_key_secret.secret_arn} --query SecretString --output text"
        )

    @property
    def dependencies(self) -> IDependable:
        """What an ECS service must wait for: ECS refuses a target group that no listener leads to."""
        return DependencyGroup(self.listener, self.listener_rules, self.web_acl.association)

    def allow_targets(self, targets: ec2.ISecurityGroup) -> None:
        """Let the load balancer reach the members of `targets` at the target port. To be called once."""
        self._security_group.allow_targets(targets, self._target_port)

    def _make_key(self, service_name: str, encryption_key: kms.IKey | None) -> None:
        self.api_key_secret: secretsmanager.ISecret | None = None
        """The secret whose text is the API key; `None` where none is asked for."""
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
        # An internet-facing one is refused in a VPC whose internet gateway is not attached yet.
        load_balancer.node.add_dependency(network.connectivity, *self.logs.writable)
        acknowledge(
            load_balancer,
            "a load balancer holds no state, and one that cannot be deleted leaves a stack half deleted; the stack's "
            "own termination protection guards the service as a whole",
            "NIST.800.53.R5-ELBDeletionProtectionEnabled",
        )
        return load_balancer

    def _make_target_group(self, network: Network, health_path: str) -> elbv2.CfnTargetGroup:
        check = front_facts().health_check
        return elbv2.CfnTargetGroup(
            self,
            # A load balancer of another scheme is made before the old one goes, and a target group has one at a time
            # (botocore's model of elbv2, TargetGroupAssociationLimitException): each scheme has a group of its own.
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
        """Make the listener at port 80.

        It is one construct with and without a certificate, so that it changes in place: two of them would meet at the
        port (botocore's model of elbv2, DuplicateListenerException).
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
                "it sends every client to the listener that has the certificate, and forwards nothing",
                "NIST.800.53.R5-ELBv2ACMCertificateRequired",
            )
            return listener
        acknowledge(
            listener,
            "plain HTTP was asked for by name, as `plain_http`; with a certificate there is none",
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
