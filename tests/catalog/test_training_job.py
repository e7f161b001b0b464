"""The facts of training jobs against their sources: botocore's model, and each other."""

import json
import re
from datetime import date
from typing import Any

import pytest
from botocore.session import get_session

from llm_fleet.catalog.data_file import Limit, load
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.training_job import (
    ended_images,
    launchers,
    name_limit,
    smddp_instances,
    training_image_families,
    training_instances,
    training_job_fact,
    training_job_limit,
)
from llm_fleet.spec.training_job_code import DistributionKind, TrainingImageKind
from llm_fleet.spec.training_job_data import InputMode
from tools.make_training_job_facts import NOT_OFFERED, TARGET, constraints, document

MODEL: Any = get_session().get_service_model("sagemaker")
REQUEST = MODEL.operation_model("CreateTrainingJob").input_shape
URI = re.compile(r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z-]+:[A-Za-z0-9._-]+")


def test_limits_and_instance_types_are_those_of_botocore():
    assert TARGET.read_text(encoding="utf-8") == document(), "run `python -m tools.make_training_job_facts`"
    assert list(training_instances())
    assert set(training_instances()) == set(MODEL.shape_for("TrainingInstanceType").enum)
    name = REQUEST.members["TrainingJobName"].metadata
    assert training_job_limit("TrainingJobName") == Limit(
        minimum=name["min"], maximum=name["max"], pattern=name["pattern"]
    )


def test_unsupported_fields_exist_in_the_api():
    """A field that the API removes or renames must be removed from the list."""

    def holds(path: str) -> bool:
        shape = REQUEST
        for part in path.split("."):
            member = shape.members.get(part.removesuffix("[]"))
            if member is None:
                return False
            shape = member.member if part.endswith("[]") else member
        return True

    assert [path for path in NOT_OFFERED if not holds(path)] == []
    assert dict(constraints(REQUEST)).keys() == load("training_job_limits")["limits"].keys()


def test_every_member_of_the_request_is_supported_or_listed():
    """test_render_request checks the rendered request; this test detects new members of the API."""
    rendered = {
        "TrainingJobName", "AlgorithmSpecification", "RoleArn", "HyperParameters", "InputDataConfig",
        "OutputDataConfig", "ResourceConfig", "StoppingCondition", "RetryStrategy", "CheckpointConfig", "VpcConfig",
        "EnableNetworkIsolation", "EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining", "Environment",
        "TensorBoardOutputConfig", "MlflowConfig", "RemoteDebugConfig", "InfraCheckConfig", "Tags",
    }  # fmt: skip
    not_offered = {path for path in NOT_OFFERED if "." not in path}
    assert set(REQUEST.members) == rendered | not_offered


def test_input_modes_are_those_of_the_api():
    assert {mode.value for mode in InputMode} == set(MODEL.shape_for("TrainingInputMode").enum)


@pytest.mark.parametrize("name", ["ml.p4d.24xlarge", "ml.g5.12xlarge", "ml.trn1.32xlarge", "ml.m5.xlarge"])
def test_facts_of_an_instance_agree_with_ec2(name: str):
    facts, ec2 = training_instances()[name], ec2_instance(name.removeprefix("ml."))
    assert ec2 is not None
    assert (facts.accelerator, facts.accelerators) == (ec2.accelerator, ec2.accelerators)
    assert facts.has_local_disks == bool(ec2.instance_store_gb)


def test_each_instance_has_facts_or_a_successor():
    for name, facts in training_instances().items():
        known = ec2_instance(name.removeprefix("ml.")) or name in instances()
        assert known or facts.successor, name
        if facts.successor:
            successor = training_instances()[facts.successor]
            assert (successor.successor, successor.accelerator) == (None, "gpu"), name
    retired = {facts.family for facts in training_instances().values() if facts.successor}
    assert retired == set(load("training_job")["retired_instances"]) == {"p2", "p3", "p3dn"}


def test_smddp_instances_are_in_the_catalog():
    found = {name for name, facts in training_instances().items() if facts.smddp}
    assert found == {f"ml.{name}" for name in smddp_instances()}


def test_gb200_agrees_with_the_catalog_of_hyperpod():
    ours, theirs = training_instances()["ml.p6e-gb200.36xlarge"], instances()["ml.p6e-gb200.36xlarge"]
    assert (ours.architecture, ours.accelerators) == (theirs.architecture, theirs.accelerators)


@pytest.mark.parametrize("family", training_image_families().values(), ids=lambda family: family.name)
def test_images_have_addresses_in_all_their_regions(family: Any):
    for version, facts in family.versions.items():
        for processor in facts.tags:
            uris = [family.uri(version, processor, region) for region in family.regions]
            assert all(URI.fullmatch(uri) for uri in uris), uris
            assert len(set(uris)) == len(uris)
    assert family.default in family.versions
    assert not set(family.retired) & set(family.versions)


def test_the_default_image_of_pytorch_is_still_patched():
    """It fails on purpose when patches end before the catalog's date: the default must be updated then."""
    family = training_image_families()["pytorch"]
    until = family.versions[family.default].until
    assert until is not None
    data = json.loads((TARGET.parent / "training_job_images.json").read_text(encoding="utf-8"))
    assert date.fromisoformat(data["checked"]) < date.fromisoformat(until)


def test_kinds_of_images_and_distributions_are_those_of_the_catalog():
    assert {kind.value for kind in TrainingImageKind} == {*training_image_families(), "smp", "own"}
    assert {kind.value for kind in DistributionKind} == set(launchers())


@pytest.mark.parametrize(
    "address",
    [
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-trcomp-training:1.11.0-transformers4.21.1",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.6.0-gpu-py36-cu110-ubuntu18.04",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.11.0-gpu-py38-cu113-ubuntu20.04-sagemaker",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training:1.9.1-transformers4.12.3-gpu-py38",
        "520713654638.dkr.ecr.us-east-1.amazonaws.com/sagemaker-pytorch:1.0.0-gpu-py3",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-tensorflow-training:2.6.3-transformers4.17.0-gpu",
    ],
)
def test_images_of_the_tutorials_are_known_to_have_ended(address: str):
    assert any(each.pattern.search(address) for each in ended_images())


def test_no_supported_image_is_listed_as_ended():
    living = [
        family.uri(version, processor, family.regions[0])
        for family in training_image_families().values()
        for version, facts in family.versions.items()
        for processor in facts.tags
    ]
    own = "111122223333.dkr.ecr.us-west-2.amazonaws.com/train:1.0-py311"
    patched_no_more = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-gpu-py311-cu124-sagemaker"
    for address in [*living, own, patched_no_more]:
        assert not any(each.pattern.search(address) for each in ended_images()), address


def test_names_leave_space_for_the_suffix():
    whole = training_job_limit("TrainingJobName").maximum
    assert whole is not None
    assert name_limit().maximum == whole - training_job_fact("job_suffix") == 36
