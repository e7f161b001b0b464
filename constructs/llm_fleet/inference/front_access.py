"""Access to a load balancer: security group, API key, listener rules, AWS WAF and logs."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct, IDependable

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import ManagedRuleGroup, front_facts
from llm_fleet.logs import log_group, log_group_arn
from llm_fleet.network.security_group import PortRange, egress_rule, ingress_rule, rule_description
from llm_fleet.rules.inference.front import EVERYBODY
from llm_fleet.rules.inference.routes import Answer, Route, RouteAction
from llm_fleet.spec.service import Jwt
from llm_fleet.storage.buckets import AccessLogBucket

_HTTPS = 443


class FrontSecurityGroup(ec2.SecurityGroup):
    """Allows ingress from the set ranges on the set ports, and egress only to targets and a token issuer."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        cidrs: Sequence[str],
        ports: Sequence[int],
        fetches_keys: bool,
    ) -> None:
        """Create the group. `fetches_keys`: whether the load balancer must reach the JWKS endpoint of an issuer."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Load balancer of an inference service: allowed ranges in, targets out",
            allow_all_outbound=False,
        )
        for cidr in cidrs:
            for port in ports:
                who = "the whole internet, as set" if cidr == EVERYBODY else "an allowed range"
                self.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(port), rule_description(who))
        if EVERYBODY in cidrs:
            acknowledge(
                self,
                f"`allowed_cidrs` has {EVERYBODY}; without credentials, clients cannot get past the load balancer",
                "AwsSolutions-EC23",
            )
        # For a private load balancer, assumption: private-load-balancer-fetches-keys-by-nat
        if fetches_keys:
            self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(_HTTPS), "JWKS endpoint of the token issuer")

    def allow_targets(self, targets: ec2.ISecurityGroup, port: int) -> None:
        """Let the load balancer connect to `targets` on `port`, with rules in both groups; call it once per group."""
        own, ports = cast(ec2.ISecurityGroup, self), PortRange(first=port, last=port)
        egress_rule(self, "ToTargets", own, targets, ports, what="requests and health checks")
        ingress_rule(self, "AtTargets", own, targets, ports, what="requests and health checks of the load balancer")


_NOT_ROTATED = (
    "servers read their key at their start, and clients have it: an automatic rotation would lock out all clients "
    "until they get the new key. How to change the key is in docs/constructs/inference-front.md"
)
_NO_KEY = "Secrets Manager encrypts with the account's key aws/secretsmanager; set `encryption_key` to use another"


class ApiKey(Construct):
    """An API key that Secrets Manager generates at deployment; it is not in the template.

    It has 64 lowercase letters and digits: Text Generation Inference compares keys without regard to case
    (router/src/server.rs), so uppercase letters would not make it stronger.

    It is deleted with the stack, since the key of a deleted service has no use. For a key that must outlive its
    service, use your own secret.
    """

    def __init__(self, scope: Construct, id: str, *, service_name: str, encryption_key: kms.IKey | None) -> None:
        """Create it. `encryption_key`: `None` means the account's key `aws/secretsmanager`."""
        super().__init__(scope, id)
        secret = secretsmanager.Secret(
            self,
            "Resource",
            description=f"API key of the inference service {service_name}",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                exclude_punctuation=True,
                exclude_uppercase=True,
                password_length=front_facts().api_key_characters,
            ),
            encryption_key=encryption_key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(secret, _NOT_ROTATED, "AwsSolutions-SMG4", "NIST.800.53.R5-SecretsManagerRotationEnabled")
        if encryption_key is None:
            acknowledge(secret, _NO_KEY, "NIST.800.53.R5-SecretsManagerUsingKMSKey")
        self.secret = cast(secretsmanager.ISecret, secret)
        """The secret; its value is only the key."""


_JSON = "application/json"
_Rule = elbv2.CfnListenerRule


class ListenerRules(Construct):
    """One listener rule for each route."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        listener_arn: str,
        target_group_arn: str,
        routes: Sequence[Route],
        jwt: Jwt | None,
    ) -> None:
        """Create the rules; `jwt`: the accepted tokens of routes that validate them."""
        super().__init__(scope, id)
        self._target_group_arn = target_group_arn
        self._jwt = jwt
        self.rules = [
            _Rule(
                self,
                route.name,
                listener_arn=listener_arn,
                priority=route.priority,
                conditions=_conditions(route),
                actions=self._actions(route),
            )
            for route in routes
        ]
        """The L1 constructs in order of priority."""

    def _actions(self, route: Route) -> list[_Rule.ActionProperty]:
        if route.answer is not None:
            return [
                _Rule.ActionProperty(
                    type="fixed-response",
                    fixed_response_config=_Rule.FixedResponseConfigProperty(
                        status_code=str(route.answer.status), content_type=_JSON, message_body=route.answer.body
                    ),
                )
            ]
        if route.action is RouteAction.FORWARD:
            return [_Rule.ActionProperty(type="forward", target_group_arn=self._target_group_arn)]
        assert self._jwt is not None  # check_front requires it
        return [
            _Rule.ActionProperty(type="jwt-validation", order=1, jwt_validation_config=_jwt_validation(self._jwt)),
            _Rule.ActionProperty(type="forward", order=2, target_group_arn=self._target_group_arn),
        ]


def default_answer(answer: Answer) -> elbv2.CfnListener.ActionProperty:
    """Return the default action of a listener: requests without a matching rule get `answer`."""
    return elbv2.CfnListener.ActionProperty(
        type="fixed-response",
        fixed_response_config=elbv2.CfnListener.FixedResponseConfigProperty(
            status_code=str(answer.status), content_type=_JSON, message_body=answer.body
        ),
    )


def _conditions(route: Route) -> list[_Rule.RuleConditionProperty]:
    conditions = [
        _Rule.RuleConditionProperty(
            field="path-pattern",
            path_pattern_config=_Rule.PathPatternConfigProperty(values=list(route.paths)),
        )
    ]
    if route.methods:
        conditions.append(
            _Rule.RuleConditionProperty(
                field="http-request-method",
                http_request_method_config=_Rule.HttpRequestMethodConfigProperty(values=list(route.methods)),
            )
        )
    conditions += [
        _Rule.RuleConditionProperty(
            field="http-header",
            http_header_config=_Rule.HttpHeaderConfigProperty(http_header_name=header, values=[pattern]),
        )
        for header, pattern in route.headers
    ]
    return conditions


def _jwt_validation(jwt: Jwt) -> _Rule.JwtValidationConfigProperty:
    return _Rule.JwtValidationConfigProperty(
        issuer=jwt.issuer,
        jwks_endpoint=jwt.jwks_endpoint,
        additional_claims=[
            _Rule.JwtValidationActionAdditionalClaimProperty(
                name=claim.name, values=list(claim.values), format=claim.format.value
            )
            for claim in jwt.claims
        ]
        or None,
    )


_LOG_PREFIX = "aws-waf-logs-"
"""Prefix that AWS WAF requires of log group names."""
_SECRET_HEADERS = ("authorization", "x-api-key")


class WebAcl(Construct):
    """Allows requests unless an IP address sends too many, or AWS's managed rules detect an attack.

    A prompt is free text: it can quote a script, a path, an address or an exploit, and be longer than the 8 KB that WAF
    inspects. So all managed rules on the body only count; those on paths, queries and headers block.

    Blocked requests are logged to a log group that is retained. Keys and tokens are removed from logs and samples.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        load_balancer_arn: str,
        requests_per_five_minutes: int,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Create the web ACL for the load balancer.

        - `requests_per_five_minutes`: limit of one IP address; above it, requests get 403.
        - `retention_days`: retention of the log of blocked requests.
        - `encryption_key`: encrypts the log group; its policy must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        rules = [self._rate_rule(requests_per_five_minutes)]
        rules += [_managed(group, len(rules) + index) for index, group in enumerate(front_facts().managed_rule_groups)]
        self.resource = wafv2.CfnWebACL(
            self,
            "Resource",
            scope="REGIONAL",
            description=f"Web ACL of the inference service {service_name}",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow=wafv2.CfnWebACL.AllowActionProperty()),
            rules=rules,
            data_protection_config=wafv2.CfnWebACL.DataProtectionConfigProperty(
                data_protections=[
                    wafv2.CfnWebACL.DataProtectProperty(
                        action="SUBSTITUTION",
                        field=wafv2.CfnWebACL.FieldToProtectProperty(
                            field_type="SINGLE_HEADER", field_keys=list(_SECRET_HEADERS)
                        ),
                    )
                ]
            ),
            visibility_config=_visibility("WebAcl"),
        )
        """The L1 construct."""
        self.association = wafv2.CfnWebACLAssociation(
            self, "Association", resource_arn=load_balancer_arn, web_acl_arn=self.resource.attr_arn
        )
        """Association with the load balancer."""
        self._log(service_name, retention_days, encryption_key)

    def _rate_rule(self, limit: int) -> wafv2.CfnWebACL.RuleProperty:
        return wafv2.CfnWebACL.RuleProperty(
            name="RequestsPerAddress",
            priority=0,
            action=wafv2.CfnWebACL.RuleActionProperty(block=wafv2.CfnWebACL.BlockActionProperty()),
            statement=wafv2.CfnWebACL.StatementProperty(
                rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                    aggregate_key_type="IP",
                    limit=limit,
                    evaluation_window_sec=front_facts().rate_window_seconds,
                )
            ),
            visibility_config=_visibility("RequestsPerAddress"),
        )

    def _log(self, service_name: str, retention_days: int, encryption_key: kms.IKey | None) -> None:
        stack = cdk.Stack.of(self)
        # The fixed name has the stack's id, because the log group of an earlier stack is retained.
        unique = cdk.Fn.select(0, cdk.Fn.split("-", cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))))
        self.log_group = log_group(
            self,
            "LogGroup",
            name=f"{_LOG_PREFIX}{service_name}-{unique}",
            retention_days=retention_days,
            encryption_key=encryption_key,
            holds="; keys, tokens and prompts are not in it. Set `encryption_key` to use another",
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        """Log group of blocked requests."""
        self.logging = wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=self.resource.attr_arn,
            # The Arn attribute of the log group ends in `:*`, which WAF rejects.
            log_destination_configs=[log_group_arn(self, self.log_group.ref)],
            redacted_fields=[
                wafv2.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": header})
                for header in _SECRET_HEADERS
            ],
            logging_filter={
                "DefaultBehavior": "DROP",
                "Filters": [
                    {
                        "Behavior": "KEEP",
                        "Requirement": "MEETS_ANY",
                        "Conditions": [{"ActionCondition": {"Action": "BLOCK"}}],
                    }
                ],
            },
        )


def _managed(group: ManagedRuleGroup, priority: int) -> wafv2.CfnWebACL.RuleProperty:
    count = wafv2.CfnWebACL.RuleActionProperty(count=wafv2.CfnWebACL.CountActionProperty())
    return wafv2.CfnWebACL.RuleProperty(
        name=group.name,
        priority=priority,
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        statement=wafv2.CfnWebACL.StatementProperty(
            managed_rule_group_statement=wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=group.name,
                rule_action_overrides=[
                    wafv2.CfnWebACL.RuleActionOverrideProperty(name=rule, action_to_use=count) for rule in group.counted
                ]
                or None,
            )
        ),
        visibility_config=_visibility(group.name),
    )


def _visibility(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=True
    )


_DELIVERY = "logdelivery.elasticloadbalancing.amazonaws.com"


class FrontLogs(Construct):
    """Access and connection logs of a load balancer in a bucket.

    The bucket uses SSE-S3, the only encryption that load balancers support. Its policy lets Elastic Load Balancing
    write only the logs of this account's load balancers: it writes the account id in every object key. A condition on
    `aws:SourceArn` would also limit the region, but the load balancer could not be created where the service does not
    send the key. Logs have paths and IP addresses, but not headers and bodies, and so no keys, prompts and answers.
    Source: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/enable-access-logging.html
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        bucket: s3.IBucket | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Use `bucket`, or create one with `removal_policy`.

        `bucket`: encrypted with SSE-S3. The policy of an imported one must already let Elastic Load Balancing write
        under `load-balancer/`, because the CDK cannot change it.
        """
        super().__init__(scope, id)
        self.prefix = f"load-balancer/{service_name}"
        """Prefix of all object keys."""
        self.bucket: s3.IBucket = bucket or cast(
            s3.IBucket, AccessLogBucket(self, "Bucket", removal_policy=removal_policy)
        )
        """The bucket."""
        stack = cdk.Stack.of(self)
        added = self.bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid=f"LoadBalancerLogs{self.node.addr[-8:]}",
                principals=[iam.ServicePrincipal(_DELIVERY)],  # pyright: ignore[reportArgumentType]
                actions=["s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{self.prefix}/AWSLogs/{stack.account}/*")],
            )
        )
        self.writable: list[IDependable] = [added.policy_dependable] if added.policy_dependable else []
        """A load balancer must depend on this: it writes a test object when the bucket is set."""
