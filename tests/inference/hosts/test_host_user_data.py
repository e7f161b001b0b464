"""User data stays within what EC2 takes, with the longest names that the rules and CloudFormation let through."""

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.neuron import host_facts, neuron_instance_names
from llm_fleet.catalog.service import task_limits
from llm_fleet.inference.hosts import host_settings, host_user_data
from llm_fleet.inference.model import ModelMount, model_mount
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_model
from llm_fleet.spec.model_shape import ModelShape
from llm_fleet.spec.served_model import Model
from tests.lifecycle_scripts.inference_host.unpack import settings_of

NAME = "n" * task_limits().longest_name
SHAPE = ModelShape(parameters=7_512_264_704, layers=32, attention_heads=32, kv_heads=8, head_dim=128)
ROOM = host_facts().model_prefix_bytes
STACK = f"arn:aws-us-gov:cloudformation:ap-southeast-1:111122223333:stack/{'s' * 128}/{'0' * 36}"
"""Names of stacks have 128 characters at most."""
LONGEST = ["p" * ROOM, "ü" * (ROOM // 2), '"' * (ROOM // 2), "\\" * (ROOM // 2), "\x01" * (ROOM // 6)]


def mount_of(prefix: str) -> ModelMount:
    mount = model_mount(Model(s3_uri=f"s3://{'b' * 63}/{prefix}", shape=SHAPE, cache_gib=99999))
    assert mount is not None
    return mount


@pytest.mark.parametrize("prefix", LONGEST, ids=["plain", "two bytes", "quotes", "backslashes", "control"])
def test_the_longest_of_all_names_together_fit(prefix: str):
    stack = cdk.Stack(cdk.App(), "S", env=cdk.Environment(region="ap-southeast-1"))
    settings = host_settings(
        stack,
        instance_type=max(neuron_instance_names(), key=len),
        install_driver=True,
        service_name=NAME,
        cluster_name=NAME,
        driver_version="2.28.10.10",
        log_group_name=f"/llm-fleet/inference/{NAME}",
        signal_resources=["L" * 255, "L" * 245 + "1234567890"],  # the longest logical ids, which begin alike
        mount=mount_of(prefix),
    )
    text = stack.resolve(host_user_data(stack, {**settings, "stack": STACK, "url_suffix": "amazonaws.com.cn"}))
    assert settings_of(text)["mount"]["prefix"] == prefix
    assert len(text.encode()) < host_facts().user_data_bytes


@pytest.mark.parametrize("prefix", LONGEST, ids=["plain", "two bytes", "quotes", "backslashes", "control"])
def test_one_character_more_is_refused(prefix: str):
    model = Model(s3_uri=f"s3://{'b' * 63}/{prefix + 6 * prefix[:1]}", shape=SHAPE)
    (problem,) = check_model(model)
    assert (problem.code, problem.path) == (Code.MODEL_PLACE, ("s3_uri",))
    assert "bytes of the user data" in problem.message
    assert f"up to {ROOM} bytes" in problem.allowed


def test_a_bucket_that_is_not_known_yet_hides_nothing_of_the_prefix():
    location = f"s3://{cdk.Token.as_string({'Ref': 'Bucket'})}/{'p' * ROOM}"
    assert check_model(Model(s3_uri=location, shape=SHAPE)) == []
    (longer,) = check_model(Model(s3_uri=location + "p", shape=SHAPE))
    assert "bytes of the user data" in longer.message
    (wider,) = check_model(Model(s3_uri=location[:-1] + "*", shape=SHAPE))
    assert "by which IAM would grant more" in wider.message


def test_a_prefix_that_is_not_known_yet_passes():
    model = Model(s3_uri=f"s3://my-models/{cdk.Token.as_string({'Ref': 'Prefix'})}/{'p' * ROOM}", shape=SHAPE)
    assert check_model(model) == []
