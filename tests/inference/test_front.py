"""The load balancer of a service: listeners, rules, security group, logs and AWS WAF."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.routes import NOT_FOUND, UNAUTHORIZED, Answer, routes
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.service import Front
from tests.inference.fronts import CERTIFICATE, FRONTS, Fronts

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:chat-key-AbCdEf"


def attributes(properties: Any, name: str) -> dict[str, Any]:
    return {each["Key"]: each["Value"] for each in properties[name]}


def listener(fronts: Fronts, front: str, port: int) -> Any:
    (found,) = [each for each in fronts.all(front, "Listener") if each["Port"] == port]
    return found


@pytest.mark.parametrize("front", ["Secure", "Tokens"])
def test_with_a_certificate_all_requests_use_https(fronts: Fronts, front: str) -> None:
    https = listener(fronts, front, 443)
    assert https["Protocol"] == "HTTPS"
    assert https["Certificates"] == [{"CertificateArn": CERTIFICATE}]
    assert https["SslPolicy"] == "ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"
    assert listener(fronts, front, 80)["DefaultActions"] == [
        {"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "443", "StatusCode": "HTTP_301"}}
    ]
    (serving,) = {json.dumps(rule["ListenerArn"]) for rule in fronts.all(front, "ListenerRule")}
    assert json.loads(serving)["Ref"] in {name for name in fronts.resources if name.startswith(f"{front}Https")}


@pytest.mark.parametrize("front", ["Plain", "Open"])
def test_plain_http_is_one_listener(fronts: Fronts, front: str) -> None:
    (only,) = fronts.all(front, "Listener")
    assert (only["Port"], only["Protocol"]) == (80, "HTTP")


@pytest.mark.parametrize("front", FRONTS)
def test_the_listener_at_port_80_is_one_construct_with_and_without_a_certificate(fronts: Fronts, front: str) -> None:
    (port_80,) = [
        each for each in fronts.made[front].node.find_all() if isinstance(each, elbv2.CfnListener) and each.port == 80
    ]
    assert port_80.node.id == "Http"


@pytest.mark.parametrize("front", FRONTS)
def test_a_public_and_a_private_load_balancer_have_different_target_groups(fronts: Fronts, front: str) -> None:
    assert fronts.made[front].target_group.node.id == ("PublicTargets" if FRONTS[front].public else "Targets")
    assert "Name" not in fronts.only(front, "TargetGroup"), "a name would be in use while a group is replaced"


@pytest.mark.parametrize("front", FRONTS)
def test_a_request_without_a_matching_rule_is_answered_with_404(fronts: Fronts, front: str) -> None:
    (action,) = listener(fronts, front, 443 if FRONTS[front].certificate_arn else 80)["DefaultActions"]
    assert action == {
        "Type": "fixed-response",
        "FixedResponseConfig": {
            "StatusCode": "404",
            "ContentType": "application/json",
            "MessageBody": NOT_FOUND.body,
        },
    }


@pytest.mark.parametrize("front", FRONTS)
def test_rules_are_the_routes(fronts: Fronts, front: str) -> None:
    front_settings = FRONTS[front]
    rules = {rule["Priority"]: rule for rule in fronts.all(front, "ListenerRule")}
    wanted = routes(front_settings.authentication, server=ServerKind.TGI, served_name="tanuki")
    assert set(rules) == {route.priority for route in wanted}
    for route in wanted:
        conditions = {condition["Field"]: condition for condition in rules[route.priority]["Conditions"]}
        assert conditions.pop("path-pattern")["PathPatternConfig"] == {"Values": list(route.paths)}
        if route.methods:
            method = conditions.pop("http-request-method")
            assert method["HttpRequestMethodConfig"] == {"Values": list(route.methods)}
        if route.headers:
            assert conditions.pop("http-header")["HttpHeaderConfig"] == {
                "HttpHeaderName": "Authorization",
                "Values": ["Bearer ?*"],
            }
        assert conditions == {}


def test_requests_are_forwarded_only_to_tasks(fronts: Fronts) -> None:
    targets = {"Ref": fronts.id_of("Plain", "TargetGroup")}
    found = {rule["Priority"]: rule["Actions"] for rule in fronts.all("Plain", "ListenerRule")}
    forward = [{"Type": "forward", "TargetGroupArn": targets}]
    answers = {20: Answer.models("tanuki"), 25: NOT_FOUND, 40: UNAUTHORIZED}
    assert {priority: actions for priority, actions in found.items() if priority not in answers} == {
        10: forward,
        30: forward,
    }
    for priority, answer in answers.items():
        (action,) = found[priority]
        assert action["FixedResponseConfig"] == {
            "StatusCode": str(answer.status),
            "ContentType": "application/json",
            "MessageBody": answer.body,
        }


def test_tokens_are_validated_before_a_request_is_forwarded(fronts: Fronts) -> None:
    (rule,) = [rule for rule in fronts.all("Tokens", "ListenerRule") if rule["Priority"] == 30]
    assert rule["Actions"] == [
        {
            "Type": "jwt-validation",
            "Order": 1,
            "JwtValidationConfig": {
                "Issuer": "https://issuer.example.com",
                "JwksEndpoint": "https://issuer.example.com/jwks.json",
                "AdditionalClaims": [{"Name": "aud", "Values": ["chat"], "Format": "string-array"}],
            },
        },
        {"Type": "forward", "Order": 2, "TargetGroupArn": {"Ref": fronts.id_of("Tokens", "TargetGroup")}},
    ]


def test_it_is_private_by_default(fronts: Fronts) -> None:
    assert fronts.only("Plain", "LoadBalancer")["Scheme"] == "internal"
    assert fronts.only("Tokens", "LoadBalancer")["Scheme"] == "internet-facing"
    for front, kind in (("Plain", "Private"), ("Tokens", "Public")):
        subnets = [subnet["Ref"] for subnet in fronts.only(front, "LoadBalancer")["Subnets"]]
        assert [name[:-8] for name in subnets] == [
            f"Networkusw2az4{kind}Subnet",
            f"NetworkLoadBalancersusw2az1{kind}Subnet",
        ]


def allowed(fronts: Fronts, front: str) -> set[tuple[str, int]]:
    rules = fronts.only(front, "SecurityGroup")["SecurityGroupIngress"]
    assert all(rule["IpProtocol"] == "tcp" and rule["FromPort"] == rule["ToPort"] for rule in rules)
    return {(rule["CidrIp"], rule["FromPort"]) for rule in rules}


def test_only_allowed_cidrs_can_connect(fronts: Fronts) -> None:
    assert allowed(fronts, "Plain") == {("10.0.0.0/16", 80), ("10.1.0.0/16", 80)}
    assert allowed(fronts, "Secure") == {(cidr, port) for cidr in ("10.0.0.0/16", "10.1.0.0/16") for port in (80, 443)}
    assert allowed(fronts, "Tokens") == {(cidr, port) for cidr in ("0.0.0.0/0", "203.0.113.0/24") for port in (80, 443)}


def test_the_rule_for_the_whole_internet_says_so(fronts: Fronts) -> None:
    rules = fronts.only("Tokens", "SecurityGroup")["SecurityGroupIngress"]
    descriptions = {rule["Description"] for rule in rules if rule["CidrIp"] == "0.0.0.0/0"}
    assert descriptions == {"the whole internet, as set"}


def test_it_can_connect_only_to_its_targets(fronts: Fronts) -> None:
    own = {"Fn::GetAtt": [fronts.id_of("Plain", "SecurityGroup"), "GroupId"]}
    tasks = {"Fn::GetAtt": [fronts.id_of("Tasks", "SecurityGroup"), "GroupId"]}
    out = fronts.only("Plain", "SecurityGroupEgress")
    into = fronts.only("Plain", "SecurityGroupIngress")
    assert (out["GroupId"], out["DestinationSecurityGroupId"], out["FromPort"], out["ToPort"]) == (
        own,
        tasks,
        8080,
        8080,
    )
    assert (into["GroupId"], into["SourceSecurityGroupId"], into["FromPort"], into["ToPort"]) == (
        tasks,
        own,
        8080,
        8080,
    )
    # The CDK's security group rule that allows nothing: an invalid address.
    (nothing,) = fronts.only("Plain", "SecurityGroup")["SecurityGroupEgress"]
    assert nothing["CidrIp"] == "255.255.255.255/32"


def test_only_a_front_with_tokens_can_download_keys(fronts: Fronts) -> None:
    (keys,) = fronts.only("Tokens", "SecurityGroup")["SecurityGroupEgress"]
    assert (keys["CidrIp"], keys["FromPort"], keys["ToPort"]) == ("0.0.0.0/0", 443, 443)


@pytest.mark.parametrize(("front", "idle", "draining"), [("Plain", 600, 600), ("Secure", 1800, 1800), ("Open", 60, 20)])
def test_timeouts_depend_on_the_longest_answer(fronts: Fronts, front: str, idle: int, draining: int) -> None:
    balancer = attributes(fronts.only(front, "LoadBalancer"), "LoadBalancerAttributes")
    assert balancer["idle_timeout.timeout_seconds"] == str(idle)
    targets = attributes(fronts.only(front, "TargetGroup"), "TargetGroupAttributes")
    assert targets["deregistration_delay.timeout_seconds"] == str(draining)


def test_targets_are_configured_for_long_answers(fronts: Fronts) -> None:
    group = fronts.only("Plain", "TargetGroup")
    values = attributes(group, "TargetGroupAttributes")
    assert values["load_balancing.algorithm.type"] == "least_outstanding_requests"
    assert values["slow_start.duration_seconds"] == "0"
    assert (group["TargetType"], group["Protocol"], group["Port"]) == ("ip", "HTTP", 8080)
    assert (group["HealthCheckPath"], group["Matcher"]) == ("/health", {"HttpCode": "200"})
    assert group["HealthCheckTimeoutSeconds"] < group["HealthCheckIntervalSeconds"]
    assert group["UnhealthyThresholdCount"] > group["HealthyThresholdCount"]


def test_invalid_requests_are_rejected(fronts: Fronts) -> None:
    values = attributes(fronts.only("Plain", "LoadBalancer"), "LoadBalancerAttributes")
    assert values["routing.http.drop_invalid_header_fields.enabled"] == "true"
    assert values["routing.http.desync_mitigation_mode"] == "strictest"
    assert values["waf.fail_open.enabled"] == "false"
    assert values["deletion_protection.enabled"] == "false"


def test_the_base_url_is_that_of_openai_clients(fronts: Fronts) -> None:
    name = {"Fn::GetAtt": [fronts.id_of("Plain", "LoadBalancer"), "DNSName"]}
    assert fronts.stack.resolve(fronts.made["Plain"].url) == {"Fn::Join": ["", ["http://", name, "/v1"]]}
    assert fronts.made["Secure"].url == "https://chat.example.com/v1"


def test_a_generated_key_is_in_no_template(fronts: Fronts) -> None:
    secret = fronts.only("Plain", "Secret")
    assert secret["GenerateSecretString"] == {
        "ExcludePunctuation": True,
        "ExcludeUppercase": True,
        "PasswordLength": 64,
    }
    assert "SecretString" not in secret
    assert "KmsKeyId" in secret
    command = fronts.stack.resolve(fronts.made["Plain"].key_command)
    assert command == {
        "Fn::Join": [
            "",
            [
                "aws secretsmanager get-secret-value --region us-west-2 --secret-id ",
                {"Ref": fronts.id_of("Plain", "Secret")},
                " --query SecretString --output text",
            ],
        ]
    }


@pytest.mark.parametrize("front", ["Tokens", "Open"])
def test_without_authentication_no_key_is_created(fronts: Fronts, front: str) -> None:
    assert fronts.all(front, "Secret") == []
    assert fronts.made[front].api_key_secret is None
    assert fronts.made[front].key_command is None


def make(stack: cdk.Stack, network: Network, front: Front | None = None, **settings: Any) -> LoadBalancerFront:
    return LoadBalancerFront(
        stack,
        "Front",
        network=network,
        front=front or Front(plain_http=True),
        server=ServerKind.TGI,
        served_name="tanuki",
        target_port=8080,
        service_name="chat",
        **settings,
    )


def test_an_existing_key_is_used(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    made = make(stack, network, Front(plain_http=True, api_key_secret_arn=SECRET))
    assert made.api_key_secret is not None
    assert made.api_key_secret.secret_arn == SECRET
    Template.from_stack(stack).resource_count_is("AWS::SecretsManager::Secret", 0)


def test_a_network_with_one_az_is_rejected_with_a_remedy(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    with pytest.raises(FleetError) as raised:
        make(stack, network)
    assert [problem.code for problem in raised.value.problems] == [Code.FRONT_ZONES]
    assert "load_balancer_zone_ids" in str(raised.value)


def test_a_certificate_of_another_region_is_rejected(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    front = Front(certificate_arn=CERTIFICATE.replace("us-west-2", "us-east-1"))
    with pytest.raises(FleetError) as raised:
        make(stack, network, front)
    assert [(problem.code, problem.where) for problem in raised.value.problems] == [
        (Code.FRONT_CERTIFICATE_REGION, "front.certificate_arn")
    ]


def test_logs_are_written_to_a_given_bucket(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4", "usw2-az1"]))
    bucket = s3.Bucket(stack, "Mine", encryption=s3.BucketEncryption.S3_MANAGED)
    make(stack, network, access_log_bucket=bucket)
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::S3::Bucket", 1)
    (policy,) = template.find_resources("AWS::S3::BucketPolicy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"}


BODY_RULES = {
    "SizeRestrictions_BODY",
    "CrossSiteScripting_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
    "EC2MetaDataSSRF_BODY",
    "Log4JRCE_BODY",
    "JavaDeserializationRCE_BODY",
    "ReactJSRCE_BODY",
}


def rules(fronts: Fronts, front: str = "Plain") -> dict[str, Any]:
    return {rule["Name"]: rule for rule in fronts.only(front, "WebACL")["Rules"]}


def test_access_and_connection_logs_have_one_prefix(fronts: Fronts) -> None:
    values = {each["Key"]: each["Value"] for each in fronts.only("Plain", "LoadBalancer")["LoadBalancerAttributes"]}
    bucket = {"Ref": fronts.id_of("Plain", "Bucket")}
    for kind in ("access_logs", "connection_logs"):
        assert values[f"{kind}.s3.enabled"] == "true"
        assert values[f"{kind}.s3.bucket"] == bucket
        assert values[f"{kind}.s3.prefix"] == "load-balancer/plain"


def test_elastic_load_balancing_can_only_write_its_logs(fronts: Fronts) -> None:
    (encryption,) = fronts.only("Plain", "Bucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    allowed = [
        statement
        for statement in fronts.only("Plain", "BucketPolicy")["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    (statement,) = allowed
    assert statement["Action"] == "s3:PutObject"
    assert statement["Principal"] == {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"}
    assert json.dumps(statement["Resource"]).endswith('"/load-balancer/plain/AWSLogs/111122223333/*"]]}')


def test_the_load_balancer_is_created_after_its_log_permission_and_internet_access(fronts: Fronts) -> None:
    after = fronts.resources[fronts.id_of("Plain", "LoadBalancer")]["DependsOn"]
    assert fronts.id_of("Plain", "BucketPolicy") in after
    assert any(name.startswith("NetworkInternetDefaultRoute") for name in after)


def test_logs_are_retained_when_the_stack_is_deleted(fronts: Fronts) -> None:
    for type in ("Bucket", "LogGroup"):
        assert fronts.resources[fronts.id_of("Plain", type)]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert fronts.resources[fronts.id_of("Plain", "Secret")]["DeletionPolicy"] == "Delete"


def test_waf_protects_the_load_balancer(fronts: Fronts) -> None:
    association = fronts.only("Plain", "WebACLAssociation")
    assert association["ResourceArn"] == {"Ref": fronts.id_of("Plain", "LoadBalancer")}
    assert association["WebACLArn"] == {"Fn::GetAtt": [fronts.id_of("Plain", "WebACL"), "Arn"]}
    assert fronts.only("Plain", "WebACL")["Scope"] == "REGIONAL"


def test_an_address_with_too_many_requests_is_blocked(fronts: Fronts) -> None:
    for front, limit in (("Plain", 3000), ("Tokens", 500)):
        rule = rules(fronts, front)["RequestsPerAddress"]
        assert rule["Action"] == {"Block": {}}
        assert rule["Statement"]["RateBasedStatement"] == {
            "AggregateKeyType": "IP",
            "EvaluationWindowSec": 300,
            "Limit": limit,
        }


def test_prompts_are_not_treated_as_attacks(fronts: Fronts) -> None:
    managed = [rule for name, rule in rules(fronts).items() if name.startswith("AWSManagedRules")]
    assert len(managed) == 3
    assert all(rule["OverrideAction"] == {"None": {}} for rule in managed)
    overrides = [
        override
        for rule in managed
        for override in rule["Statement"]["ManagedRuleGroupStatement"].get("RuleActionOverrides", [])
    ]
    assert {override["Name"] for override in overrides} == BODY_RULES
    assert all(override["ActionToUse"] == {"Count": {}} for override in overrides)


def test_rules_have_unique_priorities(fronts: Fronts) -> None:
    assert sorted(rule["Priority"] for rule in rules(fronts).values()) == [0, 1, 2, 3]


def test_keys_and_tokens_are_in_no_log_and_no_sampled_request(fronts: Fronts) -> None:
    redacted = [
        field["SingleHeader"]["Name"] for field in fronts.only("Plain", "LoggingConfiguration")["RedactedFields"]
    ]
    (protection,) = fronts.only("Plain", "WebACL")["DataProtectionConfig"]["DataProtections"]
    assert "authorization" in redacted
    assert protection["Field"] == {"FieldType": "SINGLE_HEADER", "FieldKeys": redacted}


def test_blocked_requests_are_logged_in_a_group_with_a_name_that_waf_accepts(fronts: Fronts) -> None:
    logging = fronts.only("Plain", "LoggingConfiguration")
    name = fronts.only("Plain", "LogGroup")["LogGroupName"]["Fn::Join"][1][0]
    assert name == "aws-waf-logs-plain-"
    (destination,) = logging["LogDestinationConfigs"]
    assert destination["Fn::Join"][1][-1] == {"Ref": fronts.id_of("Plain", "LogGroup")}
    assert logging["LoggingFilter"]["DefaultBehavior"] == "DROP"
    (kept,) = logging["LoggingFilter"]["Filters"]
    assert kept["Conditions"] == [{"ActionCondition": {"Action": "BLOCK"}}]
