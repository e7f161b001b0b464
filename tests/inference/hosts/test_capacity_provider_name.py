"""Names that ECS takes for capacity providers, in stacks of any name."""

import re

import aws_cdk as cdk
import botocore.session
import pytest
from botocore.model import StructureShape
from constructs import Construct

from llm_fleet.inference.cluster import capacity_provider_name


def name_in(stack_name: str, *, construct: str = "Capacity") -> str | None:
    stack = cdk.Stack(cdk.App(), "Stack", stack_name=stack_name)
    return capacity_provider_name(Construct(Construct(stack, "Chat"), construct))


@pytest.mark.parametrize("stack_name", ["aws-chat", "ecs-services", "ECS-services", "fargate"])
def test_a_name_is_given_where_the_stacks_would_be_refused(stack_name: str):
    name = name_in(stack_name)
    assert name is not None
    assert re.fullmatch("cp-[A-Za-z0-9_-]{1,252}", name)
    assert name != name_in(stack_name, construct="Other")


def test_elsewhere_cloudformation_names_it_and_may_replace_it():
    assert name_in("inference-chat") is None
    assert name_in("chat-on-ecs") is None
    nested = cdk.NestedStack(cdk.Stack(cdk.App(), "ecs-parent"), "Nested")
    assert capacity_provider_name(nested) is None, "a name that nobody knows yet"


def test_what_is_refused_is_what_ecs_documents():
    shape = botocore.session.get_session().get_service_model("ecs").shape_for("CreateCapacityProviderRequest")
    assert isinstance(shape, StructureShape)
    told = str(shape.members["name"].documentation)
    refused = re.findall("<code>(\\w+)</code>", told.split("can't be prefixed with")[1])
    assert refused
    for beginning in refused:
        assert name_in(f"{beginning}-chat") is not None
