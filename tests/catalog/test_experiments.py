"""Experiments of the register of assumptions: requests that the API models accept, without cost, and removable."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import botocore.session
import jmespath
import pytest
from botocore import xform_name
from botocore.validate import ParamValidator
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from llm_fleet.catalog.assumptions import assumption
from llm_fleet.catalog.data_file import data_files, load
from llm_fleet.catalog.experiments import Call, Request, experiments

GIVEN = {
    "run": "llm-fleet-0123456789abcd",
    "account": "123456789012",
    "region": "us-west-2",
    "partition": "aws",
    "dns_suffix": "amazonaws.com",
}
"""Placeholders that every call can use. The run has as many characters as it may have."""
KEPT = {
    "gateway": "igw-0123456789abcdef0",
    "group": "sg-0123456789abcdef0",
    "image": "ami-0123456789abcdef0",
    "one": "arn:aws:autoscaling:us-west-2:123456789012:autoScalingGroup:1:autoScalingGroupName/one",
    "subnet": "subnet-0123456789abcdef0",
    "table": "rtb-0123456789abcdef0",
    "targets": "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/one/0123456789abcdef",
    "two": "arn:aws:autoscaling:us-west-2:123456789012:autoScalingGroup:2:autoScalingGroupName/two",
    "vpc": "vpc-0123456789abcdef0",
}
PLACEHOLDER = re.compile(r"<([a-z_]+)>")
CREATES = re.compile(r"(Allocate|Attach|Create|Import|Launch|Publish|Put|Register|Run|Start)[A-Z]")
FREE = {
    "application-autoscaling:RegisterScalableTarget", "autoscaling:CreateAutoScalingGroup",
    "cloudformation:CreateChangeSet", "cloudformation:CreateStack", "ec2:CreateLaunchTemplate",
    "ec2:CreateSecurityGroup", "ecs:CreateCapacityProvider", "ecs:CreateCluster", "ecs:CreateService",
    "ecs:RegisterTaskDefinition", "logs:CreateLogGroup", "s3:CreateBucket", "s3:PutBucketLogging",
    "s3:PutBucketPolicy", "s3:PutObject", "sagemaker:CreateEndpointConfig", "sagemaker:CreateModel",
}  # fmt: skip
"""Operations that create something without cost, with the arguments that the experiments have."""
FREE_TYPES = {
    "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::InternetGateway", "AWS::EC2::LaunchTemplate",
    "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress", "AWS::EC2::VPC", "AWS::EC2::VPCGatewayAttachment",
    "AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::S3::Bucket",
    "AWS::SNS::Topic", "AWS::StepFunctions::StateMachine",
}  # fmt: skip
"""Resources without cost that are not used."""
GENERAL = {
    "autoscaling": {"ValidationError"},
    "cloudformation": {"ValidationError"},
    "s3": {"NoSuchBucketPolicy"},
    "sagemaker": {"ValidationException"},
}
"""Error codes that the API models do not have. Sources: CommonErrors.html in the API references of Auto Scaling,
CloudFormation and SageMaker, and the list of error codes in that of S3."""
CASES = [(name, at) for name, calls in experiments().items() for at in range(len(calls))]
"""Experiment and number of each call."""
EACH_CALL = pytest.mark.parametrize(("name", "at"), CASES, ids=[f"{name}-{at}" for name, at in CASES])


def placeholders(value: Any) -> set[str]:
    return set(PLACEHOLDER.findall(json.dumps(value, default=dict)))


def filled(value: Any, values: Mapping[str, str]) -> Any:
    return json.loads(PLACEHOLDER.sub(lambda found: values[found[1]], json.dumps(value, default=dict)))


@cache
def session() -> Any:
    return botocore.session.get_session()


def operation_of(call: str) -> Any:
    service, _, operation = call.partition(":")
    return session().get_service_model(service).operation_model(operation)


def as_sent(shape: Any, value: Any) -> Any:
    """`value` with objects as JSON where the API has a string."""
    if shape.type_name == "structure" and isinstance(value, dict):
        members = cast(dict[str, Any], value)
        return {key: as_sent(shape.members[key], one) if key in shape.members else one for key, one in members.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [as_sent(shape.member, one) for one in cast(list[Any], value)]
    return json.dumps(value) if shape.type_name == "string" and isinstance(value, dict) else value


def out_of_bounds(shape: Any, value: Any, place: str) -> Iterator[str]:
    """What the model's enumerations, lengths and patterns, which botocore does not check, reject in `value`."""
    if shape.type_name == "structure":
        for key, one in value.items():
            yield from out_of_bounds(shape.members[key], one, f"{place}.{key}")
    elif shape.type_name == "list":
        for one in value:
            yield from out_of_bounds(shape.member, one, place)
    elif shape.type_name == "string" and isinstance(value, str):
        if shape.enum and value not in shape.enum:
            yield f"{place} is {value}, and not one of {shape.enum}"
        if len(value) > shape.metadata.get("max", len(value)) or len(value) < shape.metadata.get("min", 0):
            yield f"{place} has {len(value)} characters"
        pattern = shape.metadata.get("pattern")
        if pattern and "\\p" not in pattern and "\\u" not in pattern and not re.search(pattern, value):
            yield f"{place} is {value}, which does not match {pattern}"


def wrong_with(request: Request, input_shape: Any) -> list[str]:
    sent = as_sent(input_shape, filled(request.arguments, GIVEN | KEPT))
    report = ParamValidator().validate(sent, input_shape)
    return [report.generate_report()] if report.has_errors() else list(out_of_bounds(input_shape, sent, request.call))


@pytest.mark.parametrize("name", sorted(experiments()))
def test_an_experiment_is_of_an_entry_of_tier_0_of_its_topic(name: str):
    entry = assumption(name)
    assert entry.tier == 0
    assert name in load(f"experiments/{entry.topic}")


def test_each_experiment_is_in_one_file_and_has_a_result():
    names = [name for file in data_files("experiments") for name in load(file)]
    assert sorted(names) == sorted(set(names)) == sorted(experiments())
    assert [name for name, calls in experiments().items() if all(call.setup for call in calls)] == []


@EACH_CALL
def test_the_api_models_accept_each_request(name: str, at: int):
    call = experiments()[name][at]
    for request in (call, call.undo):
        if request is not None:
            assert wrong_with(request, operation_of(request.call).input_shape) == []
    for request in (call.wait, call.undo_wait):
        if request is not None:
            service, _, waiter = request.call.partition(":")
            model = session().get_waiter_model(service)
            names = {xform_name(one): one for one in model.waiter_names}
            operation = model.get_waiter(names[waiter]).operation
            assert wrong_with(request, operation_of(f"{service}:{operation}").input_shape) == []


@EACH_CALL
def test_placeholders_are_known_before_the_call(name: str, at: int):
    calls = experiments()[name]
    known = {*GIVEN, *(kept for one in calls[:at] for kept in one.keep)}
    call = calls[at]
    for request in (call, call.undo, call.undo_wait):
        assert request is None or placeholders(request.arguments) <= known
    assert call.wait is None or placeholders(call.wait.arguments) <= known | set(call.keep)
    assert set(call.keep) <= set(KEPT)


def members(shape: Any, seen: frozenset[str] = frozenset()) -> set[str]:
    """The names of all members below `shape`."""
    if shape is None or shape.name in seen:
        return set()
    seen |= {shape.name}
    if shape.type_name == "structure":
        inner = [members(one, seen) for one in shape.members.values()]
        return set(shape.members).union(*inner)
    return members(shape.member, seen) if shape.type_name == "list" else set()


def fields(tree: Mapping[str, Any]) -> Iterator[str]:
    if tree["type"] == "field":
        yield tree["value"]
    for one in tree["children"]:
        yield from fields(one)


@EACH_CALL
def test_expressions_are_of_fields_in_the_response(name: str, at: int):
    call = experiments()[name][at]
    texts = [one for one in (call.answer, call.until, *call.keep.values()) if one]
    found = {field for text in texts for field in fields(jmespath.compile(text).parsed)}
    assert found <= members(operation_of(call.call).output_shape) | {"TopicArn"}


@EACH_CALL
def test_each_error_is_one_of_the_operation_or_of_the_service(name: str, at: int):
    call = experiments()[name][at]
    if call.error is not None:
        operation = operation_of(call.call)
        codes = {one.metadata.get("error", {}).get("code", one.name) for one in operation.error_shapes}
        codes |= {one.name for one in operation.error_shapes} | GENERAL.get(call.call.partition(":")[0], set())
        assert any(map(call.error.fullmatch, codes))
        if "(" not in call.error.pattern:
            assert set(call.error.pattern.split("|")) <= codes
    assert call.message is None or call.error is not None
    assert not (call.error and (call.answer or call.until or call.wait or call.keep))


@EACH_CALL
def test_what_a_call_creates_is_free_named_after_the_run_and_removed(name: str, at: int):
    call = experiments()[name][at]
    if not CREATES.match(call.call.partition(":")[2]):
        assert call.undo_wait is None
        return
    assert call.call in FREE
    assert call.undo is not None
    named = {one for one in strings(call.undo.arguments) if "<run>" in one}
    assert named
    created = set(strings(call.arguments))
    assert all(one in created or one.removesuffix(":1") in created for one in named)  # The first task definition.
    if call.call == "cloudformation:CreateStack":
        assert call.undo_wait is not None
        assert placeholders(call.arguments["StackName"]) == {"run"}


def strings(value: Any) -> Iterator[str]:
    """All strings in `value`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        members = cast(Any, value)
        for one in members.values() if isinstance(value, Mapping) else members:
            yield from strings(one)


def templates() -> Iterator[tuple[str, Call]]:
    for name, calls in experiments().items():
        for at, call in enumerate(calls):
            if "TemplateBody" in call.arguments:
                yield f"{name}-{at}", call


TEMPLATES = dict(templates())
WRONG_ON_PURPOSE = {
    "ec2-network-refusals-5": {"E3687"},
    "ec2-network-refusals-8": {"E3687"},
}
"""What cfn-lint finds in templates that AWS rejects."""


@pytest.mark.parametrize("case", sorted(TEMPLATES))
def test_templates_are_valid_free_and_name_their_resources_after_the_run(case: str):
    body = filled(TEMPLATES[case].arguments["TemplateBody"], GIVEN | KEPT)
    raw = json.loads(json.dumps(TEMPLATES[case].arguments["TemplateBody"], default=dict))
    assert {one["Type"] for one in body["Resources"].values()} <= FREE_TYPES
    for one in raw["Resources"].values():
        for key, value in one.get("Properties", {}).items():
            if key.endswith("Name") and key != "DisplayName" and isinstance(value, str):
                assert value.startswith("<run>")
        if one["Type"] == "AWS::AutoScaling::AutoScalingGroup":
            assert (one["Properties"]["MinSize"], one["Properties"]["MaxSize"]) == ("0", "0")
    found = lint(json.dumps(body), config=ManualArgs(regions=["us-west-2"]))
    errors = {one.rule.id: one.message for one in found if one.rule.id.startswith("E")}
    assert errors.keys() == WRONG_ON_PURPOSE.get(case, set()), errors


def test_groups_and_services_have_no_instances_and_no_tasks():
    for calls in experiments().values():
        for call in calls:
            if call.call == "autoscaling:CreateAutoScalingGroup":
                assert (call.arguments["MinSize"], call.arguments["MaxSize"]) == (0, 0)
                assert "DesiredCapacity" not in call.arguments
            if call.call == "ecs:CreateService":
                assert call.arguments["desiredCount"] == 0
