"""Who may come to a load balancer, what passes, and the record of it: security group, key, rules, AWS WAF, logs."""

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
from llm_fleet.network.security_group import PortRange, let_in, let_out, rule_description
from llm_fleet.rules.inference.front import EVERYBODY
from llm_fleet.rules.inference.routes import Answer, Route, RouteAction
from llm_fleet.spec.service import Jwt
from llm_fleet.storage.buckets import AccessLogBucket

_HTTPS = 443


class FrontSecurityGroup(ec2.SecurityGroup):
    """Lets the named ranges in at the named ports, and nothing out but to targets, and to an issuer of tokens."""

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
        """Make the group. `fetches_keys`: whether the load balancer must reach the JWKS endpoint of an issuer."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Load balancer of an inference service: allowed ranges in, targets out",
            allow_all_outbound=False,
        )
        for cidr in cidrs:
            for port in ports:
                who = "everybody on the internet, as asked for" if cidr == EVERYBODY else "an allowed range"
                self.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(port), rule_description(who))
        if EVERYBODY in cidrs:
            acknowledge(
                self,
                f"{EVERYBODY} was asked for by name, as `allowed_cidrs`; nobody without credentials gets further than "
                "the load balancer",
                "AwsSolutions-EC23",
            )
        # A private load balancer: assumption: private-load-balancer-fetches-keys-by-nat
        if fetches_keys:
            self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(_HTTPS), "the keys of the issuer of tokens")

    def allow_targets(self, targets: ec2.ISecurityGroup, port: int) -> None:
        """Let the load balancer reach members of `targets` at `port`, both ways; to be called once for a group."""
        own, ports = cast(ec2.ISecurityGroup, self), PortRange(first=port, last=port)
        let_out(self, "ToTargets", own, targets, ports, what="requests and health checks")
        let_in(self, "AtTargets", own, targets, ports, what="requests and health checks of the load balancer")


_NOT_ROTATED = (
    "servers read their key when they start, and clients hold it: a rotation by itself would shut every client out "
    "until it is told. How to change the key is in docs/constructs/inference-front.md"
)
_NO_KEY = "Secrets Manager encrypts with the account's key aws/secretsmanager; `encryption_key` takes another"


class ApiKey(Construct):
    """A key made by Secrets Manager when the stack is deployed; it is in no template.

    Lower-case letters and digits, 64 of them: Text Generation Inference compares keys without regard to case
    (router/src/server.rs), so that capitals would be strength that is not there.

    It goes with the stack: a key of a service that is gone opens nothing. One that must outlive its service, because
    clients hold it, is a secret of your own.
    """

    def __init__(self, scope: Construct, id: str, *, service_name: str, encryption_key: kms.IKey | None) -> None:
        """Make it. `encryption_key`: `None` is the key `aws/secretsmanager` of the account."""
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
        """Its text is the key and nothing else."""


_JSON = "application/json"
_Rule = elbv2.CfnListenerRule


class ListenerRules(Construct):
    """One rule for each route."""

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
        """Make them; `jwt`: whose tokens a route that validates them takes."""
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
        """In order of priority."""

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
        assert self._jwt is not None  # check_front asked for it
        return [
            _Rule.ActionProperty(type="jwt-validation", order=1, jwt_validation_config=_jwt_validation(self._jwt)),
            _Rule.ActionProperty(type="forward", order=2, target_group_arn=self._target_group_arn),
        ]


def default_answer(answer: Answer) -> elbv2.CfnListener.ActionProperty:
    """Return the default action of a listener: what no rule fits gets `answer`."""
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
"""What AWS WAF demands of the name."""
_SECRET_HEADERS = ("authorization", "x-api-key")


class WebAcl(Construct):
    """Lets requests through unless an address sends too many, or AWS's managed rules know them for attacks.

    A prompt is free text: it may quote a script, a path, an address or an exploit, and be longer than the 8 KB that WAF
    sees of it. So every managed rule about the body only counts; those about paths, queries and headers block.

    What is blocked goes to a log group that is retained. Keys and tokens are taken out of logs and samples.
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
        """Make it for the load balancer.

        - `requests_per_five_minutes`: of one address; more get 403 until it sends fewer.
        - `retention_days`: how long what was blocked is kept.
        - `encryption_key`: of the log group; its policy must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        rules = [self._rate_rule(requests_per_five_minutes)]
        rules += [_managed(group, len(rules) + index) for index, group in enumerate(front_facts().managed_rule_groups)]
        self.resource = wafv2.CfnWebACL(
            self,
            "Resource",
            scope="REGIONAL",
            description=f"Front of the inference service {service_name}",
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
        """The L1 beneath."""
        self.association = wafv2.CfnWebACLAssociation(
            self, "Association", resource_arn=load_balancer_arn, web_acl_arn=self.resource.attr_arn
        )
        """Nothing gets past it once this is there."""
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
        # Of the stack's own id: the name is told, and the log group of an earlier stack is still there.
        unique = cdk.Fn.select(0, cdk.Fn.split("-", cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))))
        self.log_group = log_group(
            self,
            "LogGroup",
            name=f"{_LOG_PREFIX}{service_name}-{unique}",
            retention_days=retention_days,
            encryption_key=encryption_key,
            holds="; keys, tokens and prompts are not in it. `encryption_key` takes another",
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        """What was blocked."""
        self.logging = wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=self.resource.attr_arn,
            # The attribute of the log group ends in `:*`, which WAF refuses.
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

    The bucket has a key of S3's own, as load balancers write to no other. Its policy lets Elastic Load Balancing write
    the logs of this account's load balancers, and nothing else: the account is part of every key, and Elastic Load
    Balancing writes it. A condition on `aws:SourceArn` would tell the region too, but where the service does not send
    it the load balancer could not be made. Paths and addresses are in the logs; headers and bodies, and so keys,
    prompts and answers, are not.
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
        """Take `bucket`, or make one; `removal_policy` is for one that is made.

        `bucket`: encrypted with S3's own key. The policy of one that is imported must let Elastic Load Balancing write
        below `load-balancer/`, by the statement that is added to any other: the CDK cannot change it.
        """
        super().__init__(scope, id)
        self.prefix = f"load-balancer/{service_name}"
        """What the keys of all objects begin with."""
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
        """A load balancer must wait for this: it writes a first object when it is told of the bucket."""
