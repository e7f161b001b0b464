"""The model as a value: what it becomes on the host, in the container and in policies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from llm_fleet.catalog.model_shapes import known_model
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_mount import ModelMount
from llm_fleet.inference.model_permissions import model_permissions
from llm_fleet.inference.model_shape import ModelShape
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import FleetError

SHAPE = ModelShape(parameters=7_512_264_704, layers=32, attention_heads=32, kv_heads=8, head_dim=128)


def test_a_model_in_s3_is_mounted_and_its_size_known_by_its_name():
    model = Model.from_s3("s3://my-models/team/tanuki-8b/")
    assert model.mount == ModelMount(
        bucket_name="my-models",
        prefix="team/tanuki-8b",
        host_path="/mnt/llm-fleet/model",
        container_path="/model",
        cache_gib=16,  # 14.0 GiB of weights, and a tenth
    )
    assert (model.path, model.compiled) == ("/model", True)
    assert model.shape is not None
    assert model.shape.parameters == 7_512_264_704


def test_a_cache_of_ones_own():
    mount = Model.from_s3("s3://my-models/tanuki-8b", cache_gib=0).mount
    assert mount is not None
    assert mount.cache_gib == 0


def test_a_bucket_of_the_app_tells_its_key(stack: cdk.Stack):
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Models", encryption_key=cast(kms.IKey, key))
    model = Model.from_bucket(bucket, "/tanuki-8b/")
    assert model.mount is not None
    assert stack.resolve(model.mount.bucket_name) == stack.resolve(bucket.bucket_name)
    assert model.mount.prefix == "tanuki-8b"
    assert model.key_arn is not None
    assert stack.resolve(model.key_arn) == stack.resolve(key.key_arn)


def test_a_model_on_the_hub_or_in_the_image_is_not_mounted():
    hub = Model.from_hub("meta-llama/Llama-3.1-8B-Instruct", revision="a1b2c3")
    assert (hub.mount, hub.path, hub.compiled) == (None, "meta-llama/Llama-3.1-8B-Instruct", False)
    image = Model.in_image("/opt/model/", shape=SHAPE)
    assert (image.mount, image.path, image.compiled) == (None, "/opt/model", True)
    assert model_permissions(hub, partition="aws") == model_permissions(image, partition="aws") == ()


def test_hosts_read_the_model_and_nothing_else():
    key = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
    listing, objects, decrypt = model_permissions(
        Model.from_s3("s3://my-models/tanuki-8b", key_arn=key), partition="aws-cn"
    )
    assert (listing.actions, listing.resources) == (("s3:ListBucket",), ("arn:aws-cn:s3:::my-models",))
    assert listing.conditions == {"StringLikeIfExists": {"s3:prefix": ["tanuki-8b", "tanuki-8b/*"]}}
    assert (objects.actions, objects.resources) == (("s3:GetObject",), ("arn:aws-cn:s3:::my-models/tanuki-8b/*",))
    assert (decrypt.actions, decrypt.resources) == (("kms:Decrypt",), (key,))
    assert len(model_permissions(Model.from_s3("s3://my-models/tanuki-8b"), partition="aws")) == 2


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(FleetError) as raised:
        Model.from_s3("my-models/ours", served_name="a b", key_arn="alias/x", cache_gib=-1)
    assert {problem.code for problem in raised.value.problems} == {
        Code.MODEL_PLACE,
        Code.MODEL_NAME,
        Code.MODEL_KEY,
        Code.MODEL_CACHE,
    }


def test_a_shape_by_its_config_file(tmp_path: Path):
    known = known_model("tanuki-8b")
    assert known is not None
    path = tmp_path / "config.json"
    path.write_text(json.dumps(dict(known.config)))
    shape = ModelShape.from_config(path)
    assert shape == ModelShape.from_config(str(path)) == SHAPE
    assert Model.from_s3("s3://my-models/ours", shape=shape).shape == shape


def test_a_config_file_that_does_not_tell(tmp_path: Path):
    with pytest.raises(FleetError) as raised:
        ModelShape.from_config(tmp_path / "config.json")
    assert [problem.code for problem in raised.value.problems] == [Code.MODEL_CONFIG]
    with pytest.raises(FleetError) as raised:
        ModelShape(parameters=0, layers=1, attention_heads=1, kv_heads=1, head_dim=1)
    assert [problem.path for problem in raised.value.problems] == [("parameters",)]


IN_S3 = ("s3://my-models/tanuki-8b",)
ON_HUB = ("owner/tanuki-8b",)
WRONG: Any = 3


@pytest.mark.parametrize(
    ("make", "told", "where"),
    [
        (Model.from_s3, (WRONG,), "location"),
        (Model.from_hub, (WRONG,), "location"),
        (Model.in_image, (WRONG,), "location"),
        (Model.from_s3, IN_S3, "shape"),
        (Model.from_s3, IN_S3, "compiled"),
        (Model.from_s3, IN_S3, "served_name"),
        (Model.from_s3, IN_S3, "key_arn"),
        (Model.from_hub, ON_HUB, "revision"),
        (Model.from_hub, ON_HUB, "token_secret_arn"),
        (Model.from_hub, ON_HUB, "token_key_arn"),
    ],
)
def test_a_value_of_the_wrong_type_is_one_problem_and_no_traceback(
    make: Callable[..., Model], told: tuple[str, ...], where: str
):
    with pytest.raises(FleetError) as refused:
        make(*told, **({} if where == "location" else {where: WRONG}))
    (problem,) = refused.value.problems
    assert problem.where == where
    assert (problem.value is None) == (where == "token_secret_arn")  # It may be the token itself.


def test_the_word_of_a_place_is_taken_for_it_and_no_other():
    word: Any = "s3"
    assert Model(source=word, location="s3://my-models/tanuki-8b").source is ModelSource.S3
    with pytest.raises(FleetError) as refused:
        Model(source=WRONG, location="s3://my-models/tanuki-8b")
    assert [problem.where for problem in refused.value.problems] == ["source"]


def test_a_model_without_a_place_is_told_of_its_place():
    nothing: Any = None
    with pytest.raises(FleetError) as refused:
        Model.from_s3(nothing)
    (problem,) = refused.value.problems
    assert problem.code is Code.MODEL_PLACE
    assert 'Model.from_s3("s3://' in problem.remedy
