"""Endpoints synthesized for tests that read their templates."""

from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet import EndpointModel, EndpointSpec, HuggingFaceEndpoint
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

GPT_J = EndpointModel.from_hub("EleutherAI/gpt-j-6b", revision="float16")
FILES = EndpointModel.from_s3("s3://my-models/gpt-j/", key_arn="arn:aws:kms:us-west-2:111122223333:key/1")
_NEXT_TO = ("network", "encryption_key", "alarm_topic")
GOOD: dict[str, Any] = {"model": GPT_J, "instance_type": "ml.g4dn.xlarge"}
Body = dict[str, Any]


def new_stack() -> cdk.Stack:
    """A stack in a new app."""
    return cdk.Stack(cdk.App(context=cdk_context()), "Test", env=ENVIRONMENT)


def made(stack: cdk.Stack | None = None, **changes: Any) -> HuggingFaceEndpoint:
    """Return the valid endpoint with changes of its spec and of its dependencies."""
    next_to = {name: changes.pop(name) for name in _NEXT_TO if name in changes}
    return HuggingFaceEndpoint(stack or new_stack(), "GptJ", spec(**changes), **next_to)


def spec(**changes: Any) -> EndpointSpec:
    """Return the spec of the valid endpoint with these changes."""
    return EndpointSpec(**GOOD | changes)


def resources(endpoint: HuggingFaceEndpoint, type: str) -> list[Body]:
    """The resources of `type` in the template of the endpoint's stack."""
    template = Template.from_stack(cdk.Stack.of(endpoint)).to_json()
    return [body for body in template["Resources"].values() if body["Type"] == type]


def properties(endpoint: HuggingFaceEndpoint, type: str) -> Body:
    """The properties of the only resource of `type`."""
    (body,) = resources(endpoint, type)
    return body["Properties"]


def role_statements(endpoint: HuggingFaceEndpoint) -> dict[str, Body]:
    """The statements of the execution role by their ids."""
    template = Template.from_stack(cdk.Stack.of(endpoint)).to_json()
    (policy,) = [
        body
        for name, body in template["Resources"].items()
        if body["Type"] == "AWS::IAM::ManagedPolicy" and name.startswith("GptJRolePolicy")
    ]
    return {one["Sid"]: one for one in policy["Properties"]["PolicyDocument"]["Statement"]}


@cache
def good() -> HuggingFaceEndpoint:
    """The valid endpoint, synthesized once for all tests that only read it."""
    return made()


@cache
def from_files() -> HuggingFaceEndpoint:
    """An endpoint whose model is in a bucket, on an instance with an EBS volume."""
    return made(model=FILES, instance_type="ml.inf2.xlarge")
