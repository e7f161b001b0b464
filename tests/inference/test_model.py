"""The model of a service: location, permissions, and the checks before its server starts."""

import json
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from llm_fleet.catalog.model_server import known_model
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.inference.model import (
    ModelCheck,
    ModelMount,
    check_container,
    check_source,
    model_mount,
    model_path,
    model_permissions,
)
from llm_fleet.named_files.named_file import shape_from_config
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_model, check_place, check_shape, requested_of_model
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.model_server import AwsVllmServer, HuggingFaceVllmServer, TgiServer
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource
from tests.lifecycle.model_checker.models import REQUESTED

SHAPE = ModelShape(parameters=7_512_264_704, layers=32, attention_heads=32, kv_heads=8, head_dim=128)


def test_a_model_in_s3_is_mounted_and_its_size_is_found_by_its_name():
    model = Model(s3_uri="s3://my-models/team/tanuki-8b/")
    assert model_mount(model) == ModelMount(
        bucket_name="my-models",
        prefix="team/tanuki-8b",
        host_path="/mnt/llm-fleet/model",
        container_path="/model",
        cache_gib=16,  # 14.0 GiB of weights, and a tenth
    )
    assert (model_path(model), model.is_compiled) == ("/model", True)
    assert model.size is not None
    assert model.size.parameters == 7_512_264_704


def test_a_mount_can_have_no_cache():
    mount = model_mount(Model(s3_uri="s3://my-models/tanuki-8b", cache_gib=0))
    assert mount is not None
    assert mount.cache_gib == 0


def test_the_key_of_a_bucket_in_the_app_is_used(stack: cdk.Stack):
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Models", encryption_key=cast(kms.IKey, key))
    model = Model.from_bucket(bucket, "/tanuki-8b/")
    mount = model_mount(model)
    assert mount is not None
    assert stack.resolve(mount.bucket_name) == stack.resolve(bucket.bucket_name)
    assert mount.prefix == "tanuki-8b"
    assert model.key_arn is not None
    assert stack.resolve(model.key_arn) == stack.resolve(key.key_arn)


def test_a_model_on_the_hub_or_in_the_image_is_not_mounted():
    hub = Model(hub_id="meta-llama/Llama-3.1-8B-Instruct", revision="a1b2c3")
    assert (model_mount(hub), model_path(hub), hub.is_compiled) == (None, "meta-llama/Llama-3.1-8B-Instruct", False)
    image = Model(image_path="/opt/model/", shape=SHAPE)
    assert (model_mount(image), model_path(image), image.is_compiled) == (None, "/opt/model", True)
    assert model_permissions(hub, partition="aws") == model_permissions(image, partition="aws") == ()


def test_hosts_can_only_read_the_model():
    key = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
    listing, objects, decrypt = model_permissions(
        Model(s3_uri="s3://my-models/tanuki-8b", key_arn=key), partition="aws-cn"
    )
    assert (listing.actions, listing.resources) == (("s3:ListBucket",), ("arn:aws-cn:s3:::my-models",))
    assert listing.conditions == {"StringLikeIfExists": {"s3:prefix": ["tanuki-8b", "tanuki-8b/*"]}}
    assert (objects.actions, objects.resources) == (("s3:GetObject",), ("arn:aws-cn:s3:::my-models/tanuki-8b/*",))
    assert (decrypt.actions, decrypt.resources) == (("kms:Decrypt",), (key,))
    assert len(model_permissions(Model(s3_uri="s3://my-models/tanuki-8b"), partition="aws")) == 2


def test_all_errors_are_reported_together():
    model = Model(s3_uri="my-models/ours", served_name="a b", revision="main")
    assert {problem.code for problem in check_model(model)} == {Code.MODEL_PLACE, Code.MODEL_NAME, Code.MODEL_REVISION}
    key = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
    misplaced = Model(
        s3_uri="s3://my-models/ours", hub_id="a/b", image_path="/x", prefix="y", key_arn=key, cache_gib=-1
    )
    assert [(problem.code, problem.where) for problem in check_place(misplaced)] == [
        (Code.CONTRADICTION, "hub_id"),
        (Code.CONTRADICTION, "image_path"),
        (Code.CONTRADICTION, "prefix"),
        (Code.MODEL_KEY, "key_arn"),
        (Code.MODEL_CACHE, "cache_gib"),
    ]


# Once the fleet file rejected it and Python accepted it.
def test_an_alias_of_a_key_is_rejected():
    with pytest.raises(FleetError) as raised:
        Model(s3_uri="s3://my-models/ours", key_arn="alias/x")
    assert [(problem.code, problem.where) for problem in raised.value.problems] == [(Code.TEXT_FORM, "key_arn")]


def test_a_shape_is_read_from_a_config_file(tmp_path: Path):
    known = known_model("tanuki-8b")
    assert known is not None
    path = tmp_path / "config.json"
    path.write_text(json.dumps(dict(known.config)))
    shape = shape_from_config(path)
    assert shape == shape_from_config(str(path)) == SHAPE
    assert Model(s3_uri="s3://my-models/ours", shape=shape).size == shape


def test_a_config_file_without_the_size_is_rejected(tmp_path: Path):
    with pytest.raises(FleetError) as raised:
        shape_from_config(tmp_path / "config.json")
    assert [problem.code for problem in raised.value.problems] == [Code.MODEL_CONFIG]
    assert [each.path for each in check_shape(SHAPE.narrowed(ModelShape, parameters=0))] == [("parameters",)]


def test_a_model_without_a_location_is_rejected():
    (problem,) = check_place(Model())
    assert problem.code is Code.MISSING_KEY
    assert "s3_uri='s3://" in problem.remedy


MODEL = Model(s3_uri="s3://my-models/tanuki-8b")


def test_the_check_has_the_settings_of_the_server():
    instance = neuron_instance("inf2.xlarge")
    assert instance is not None
    assert requested_of_model(TgiServer(), MODEL, instance) == REQUESTED
    larger = neuron_instance("inf2.8xlarge")
    assert larger is not None
    assert requested_of_model(TgiServer(), MODEL, larger) == {**REQUESTED, "shards_needed": False}
    own = TgiServer(image="registry.example.com/tgi:1", runtime_version="2.26.42.0")
    assert requested_of_model(own, MODEL, instance)["compiler"] is None
    assert requested_of_model(TgiServer(cast_type="fp16"), MODEL, instance)["dtype"] == "fp16"
    assert requested_of_model(HuggingFaceVllmServer(), MODEL, instance)["dtype"] is None
    assert requested_of_model(AwsVllmServer(), MODEL, instance)["layout"] == "other"


def test_the_function_can_only_read_the_models(stack: cdk.Stack, app: cdk.App):
    ModelCheck(stack, "One", model=MODEL, requested=REQUESTED)
    ModelCheck(stack, "Two", model=Model(s3_uri="s3://other/tanuki-8b"), requested=REQUESTED)
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


def test_only_a_model_in_s3_can_be_checked(stack: cdk.Stack):
    with pytest.raises(ValueError, match="only a model in S3"):
        ModelCheck(stack, "Check", model=Model(hub_id="a/tanuki-8b"), requested=REQUESTED)


def test_the_container_runs_the_same_check_without_privileges():
    container = check_container(source=ModelSource.S3, path="/model", requested=REQUESTED, image="tgi:1")
    assert container is not None
    assert (container.entry_point, container.command) == (["python3", "-c"], [check_source()])
    assert (container.essential, container.user, container.readonly_root_filesystem) == (False, "65534:65534", True)
    environment: Any = container.environment
    variables = {each.name: each.value for each in environment}
    assert json.loads(variables["LLM_FLEET_MODEL_REQUESTED"]) == REQUESTED
    assert variables["LLM_FLEET_MODEL_PATH"] == "/model"


def test_a_model_on_the_hub_is_not_checked():
    assert check_container(source=ModelSource.HUB, path="a/b", requested=REQUESTED, image="tgi:1") is None
