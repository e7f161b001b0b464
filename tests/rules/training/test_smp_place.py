"""Instance types, regions, images and backends of SMP v2."""

import pytest

from llm_fleet.catalog.hyperpod import instances
from llm_fleet.catalog.training_job import (
    derived_families,
    documented_families,
    smddp_instances,
    smp_images,
    smp_regions,
    smp_versions,
)
from llm_fleet.rules.codes import Code
from llm_fleet.rules.training.smp_run import (
    check_smp_backend,
    check_smp_image,
    check_smp_place,
    newest_smp_image,
    place_remarks,
)


@pytest.mark.parametrize("instance", ["ml.p4d.24xlarge", "p4de.24xlarge", "ml.p5.48xlarge", "${Token[t.1]}"])
@pytest.mark.parametrize("region", ["us-west-2", "eu-north-1", "${Token[AWS.Region.4]}", None])
def test_documented_instances_have_an_image(instance: str, region: str | None) -> None:
    assert check_smp_place(instance, region) == []
    assert place_remarks(instance) == []


@pytest.mark.parametrize(
    "instance", ["ml.trn1.32xlarge", "ml.m5.xlarge", "ml.g4dn.12xlarge", "ml.p6-b200.48xlarge", "ml.p6e-gb200.36xlarge"]
)
def test_an_instance_without_an_image_is_reported(instance: str) -> None:
    (problem,) = check_smp_place(instance, "us-west-2")
    assert problem.code is Code.SMP_INSTANCE
    assert "fsdp" in problem.remedy
    assert "neuron" in problem.remedy


def test_an_undocumented_instance_has_a_remark() -> None:
    assert check_smp_place("ml.g5.48xlarge", "us-west-2") == []
    (remark,) = place_remarks("ml.g5.48xlarge")
    assert "p4d, p4de, p5" in remark


def test_region_and_instance_are_reported_together() -> None:
    found = check_smp_place("ml.trn1.32xlarge", "me-south-1")
    assert [problem.code for problem in found] == [Code.SMP_INSTANCE, Code.SMP_REGION]


@pytest.mark.parametrize("instance", ["ml.p5.48xlarge", "p5en.48xlarge", "ml.g5.48xlarge"])
def test_smddp_is_rejected_on_unsupported_instances(instance: str) -> None:
    (problem,) = check_smp_backend("smddp", instance)
    assert (problem.code, problem.remedy) == (Code.SMP_BACKEND, "write nccl, or remove it")


@pytest.mark.parametrize("instance", ["ml.p4d.24xlarge", "p4de.24xlarge"])
def test_smddp_is_accepted_on_supported_instances(instance: str) -> None:
    assert check_smp_backend("smddp", instance) == []


def test_unknown_backends_are_reported() -> None:
    assert check_smp_backend("nccl", "ml.p5.48xlarge") == check_smp_backend(None, "ml.p5.48xlarge") == []
    assert check_smp_backend("smddp", "${Token[t.1]}") == check_smp_backend("${Token[t.1]}", "ml.p5.48xlarge") == []
    (problem,) = check_smp_backend("ncl", "ml.p4d.24xlarge")
    assert problem.remedy == "write `nccl`"


def test_images_are_selected_by_their_pytorch_version() -> None:
    assert check_smp_image("2.4.1") == check_smp_image("${Token[t.1]}") == []
    (problem,) = check_smp_image("2.5")
    assert (problem.code, problem.remedy) == (Code.SMP_IMAGE, "write `2.5.1`")
    (problem,) = check_smp_image("newest")
    assert problem.remedy == "write `2.5.1`"


def test_image_addresses_are_those_of_the_release_notes() -> None:
    image = newest_smp_image()
    assert image.uri("us-west-2") == (
        "658645717510.dkr.ecr.us-west-2.amazonaws.com/smdistributed-modelparallel:2.5.1-gpu-py311-cu124"
    )
    assert image.enroot_url("us-west-2") == (
        "https://sagemaker-distributed-model-parallel.s3.us-west-2.amazonaws.com/enroot/2.5.1-gpu-py311-cu124.sqsh"
    )
    assert smp_versions()[0] == image.pytorch
    assert smp_images()["2.3.1"].enroot_url("us-west-2") is None
    assert len(smp_regions()) == 17


def test_every_family_of_the_table_has_gpus() -> None:
    families = {instance.family for instance in instances().values() if instance.accelerator == "gpu"}
    assert {*documented_families(), *derived_families()} <= families
    assert {f"ml.{name}" for name in smddp_instances()} <= set(instances())
