"""The check before a service is made: its function, what that may read, and a deployment that it stops."""

import json
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.inference.model import ModelCheck, check_container, check_source
from llm_fleet.rules.inference.model import asked_of_model
from llm_fleet.spec.model_server import AwsVllmServer, HuggingFaceVllmServer, TgiServer
from llm_fleet.spec.served_model import Model, ModelSource
from tests.lifecycle.model_checker.models import ASKED

MODEL = Model(s3_uri="s3://my-models/tanuki-8b")


def test_what_the_server_asks_for():
    instance = neuron_instance("inf2.xlarge")
    assert instance is not None
    assert asked_of_model(TgiServer(), MODEL, instance) == ASKED
    larger = neuron_instance("inf2.8xlarge")
    assert larger is not None
    assert asked_of_model(TgiServer(), MODEL, larger) == {**ASKED, "shards_needed": False}
    own = TgiServer(image="registry.example.com/tgi:1", runtime_version="2.26.42.0")
    assert asked_of_model(own, MODEL, instance)["compiler"] is None
    assert asked_of_model(TgiServer(cast_type="fp16"), MODEL, instance)["dtype"] == "fp16"
    assert asked_of_model(HuggingFaceVllmServer(), MODEL, instance)["dtype"] is None
    assert asked_of_model(AwsVllmServer(), MODEL, instance)["layout"] == "other"


def test_the_function_may_read_the_models_and_nothing_else(stack: cdk.Stack, app: cdk.App):
    ModelCheck(stack, "One", model=MODEL, asked=ASKED)
    ModelCheck(stack, "Two", model=Model(s3_uri="s3://other/tanuki-8b"), asked=ASKED)
    template = app.synth().get_stack_by_name("Test").template
    by_type: dict[str, list[dict[str, Any]]] = {}
    for resource in template["Resources"].values():
        by_type.setdefault(resource["Type"], []).append(resource["Properties"])
    assert len(by_type["AWS::Lambda::Function"]) == 1
    assert len(by_type["Custom::LlmFleetModelCheck"]) == 2
    (policy,) = by_type["AWS::IAM::ManagedPolicy"]
    statements = policy["PolicyDocument"]["Statement"]
    actions = {
        action for each in statements for action in ([each["Action"]] if isinstance(each["Action"], str) else [])
    }
    assert actions == {"s3:GetObject", "s3:ListBucket"}
    assert len({each["Sid"] for each in statements}) == len(statements) == 5


def test_only_what_is_in_s3_can_be_looked_at(stack: cdk.Stack):
    with pytest.raises(ValueError, match="only a model in S3"):
        ModelCheck(stack, "Check", model=Model(hub_id="a/tanuki-8b"), asked=ASKED)


def test_the_container_runs_the_same_file_as_nobody():
    container = check_container(source=ModelSource.S3, path="/model", asked=ASKED, image="tgi:1")
    assert container is not None
    assert (container.entry_point, container.command) == (["python3", "-c"], [check_source()])
    assert (container.essential, container.user, container.readonly_root_filesystem) == (False, "65534:65534", True)
    environment: Any = container.environment
    told = {each.name: each.value for each in environment}
    assert json.loads(told["LLM_FLEET_MODEL_ASKED"]) == ASKED
    assert told["LLM_FLEET_MODEL_PATH"] == "/model"


def test_there_is_nothing_to_look_at_of_a_model_on_the_hub():
    assert check_container(source=ModelSource.HUB, path="a/b", asked=ASKED, image="tgi:1") is None
