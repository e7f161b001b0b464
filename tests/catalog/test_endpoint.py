"""The facts of endpoints and related features, compared with botocore's models."""

import re
from functools import cache
from typing import Any

import botocore.session
import pytest

from llm_fleet.catalog.data_file import Limit, load
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.catalog.endpoint import (
    budget_facts,
    capture_facts,
    default_cuda,
    default_image_kind,
    endpoint_images,
    endpoint_instance,
    endpoint_instance_names,
    endpoint_scaling_facts,
    endpoint_settings,
    image_account_of,
    image_kinds,
    image_regions_of,
    inference_amis,
    retired_endpoint_families,
    rollout_facts,
    time_to_live_facts,
)
from llm_fleet.functions.endpoint_reaper.handler import IN_BETWEEN
from llm_fleet.spec.endpoint_operations import RolloutKind

ACCELERATORS = ("cpu", "gpu", "neuron")
_DRIVER = re.compile(
    r"<dt>(?P<name>[\w-]+)</dt>.*?driver version: (?P<driver>[\d.]+)(?:.*?CUDA version: (?P<cuda>[\d.]+))?"
)


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("sagemaker")


def member_of_request(name: str) -> Any:
    return model().shape_for(name)


def test_the_instance_types_are_those_of_the_api() -> None:
    families: dict[str, list[str]] = load("endpoint_instances")["families"]
    ours = [f"ml.{family}.{size}" for family, sizes in families.items() for size in sizes]
    assert sorted(ours) == sorted(member_of_request("ProductionVariantInstanceType").enum)


def test_the_ec2_catalog_has_all_types_except_two() -> None:
    unknown = {name for name in endpoint_instance_names() if ec2_instance(name.removeprefix("ml.")) is None}
    assert unknown == {"ml.dl1.24xlarge", "ml.p6e-gb200.36xlarge"}


def test_successors_of_retired_families_are_offered() -> None:
    offered = {name.removeprefix("ml.").split(".")[0] for name in endpoint_instance_names()}
    assert set(retired_endpoint_families().values()) <= offered
    assert not set(retired_endpoint_families()) & offered


def test_every_accelerator_has_its_memory_size() -> None:
    without = {
        name
        for name in endpoint_instance_names()
        if (facts := endpoint_instance(name)) and facts.accelerator and facts.accelerator_mib is None
    }
    assert {name.split(".")[1] for name in without} == {"inf1"}  # for which no image exists either


def test_host_images_and_their_drivers_are_those_of_the_api() -> None:
    assert set(inference_amis()) == set(member_of_request("ProductionVariantInferenceAmiVersion").enum)
    text = member_of_request("ProductionVariant").members["InferenceAmiVersion"].documentation
    parts = re.split(r"(?=<dt>)", text)[1:]
    found = {match["name"]: (match["driver"], match["cuda"]) for part in parts if (match := _DRIVER.search(part))}
    assert found == {name: (ami.driver, ami.cuda) for name, ami in inference_amis().items()}


def test_host_images_name_known_families() -> None:
    families = set(load("endpoint_instances")["families"])
    for ami in inference_amis().values():
        assert set(ami.families) <= families, ami.name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("name", "EndpointName"),
        ("volume_gib", "ProductionVariantVolumeSizeInGB"),
        ("timeout_seconds", "ProductionVariantModelDataDownloadTimeoutInSeconds"),
        ("timeout_seconds", "ProductionVariantContainerStartupHealthCheckTimeoutInSeconds"),
        ("instance_count", "InitialTaskCount"),
        ("environment", "EnvironmentMap"),
        ("environment_key", "EnvironmentKey"),
        ("environment_value", "EnvironmentValue"),
        ("model_address", "Url"),
        ("model_address", "S3ModelUri"),
    ],
)
def test_limits_are_those_of_the_api(ours: str, theirs: str) -> None:
    limit: Limit = getattr(endpoint_settings(), ours)
    metadata = member_of_request(theirs).metadata
    assert limit.maximum == metadata.get("max")
    if limit.minimum is not None:
        assert limit.minimum == metadata.get("min")
    if limit.pattern is not None:
        assert limit.pattern == metadata["pattern"]


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_each_accelerator_has_an_image(accelerator: str) -> None:
    assert endpoint_images(default_image_kind(accelerator), accelerator)


def test_image_tags_agree_with_the_facts() -> None:
    for kind in image_kinds():
        for accelerator in ACCELERATORS:
            for facts in endpoint_images(kind, accelerator).values():
                assert ("cuda" in str(facts) and f"-cu{(facts.cuda or '').replace('.', '')}-" in facts.tag) or (
                    accelerator != "gpu" and facts.cuda is None
                ), facts.tag
                assert {"cpu": "-cpu-", "gpu": "-gpu-", "neuron": "-neuronx-"}[accelerator] in facts.tag


def test_no_gpu_image_supports_the_default_driver_of_old_families() -> None:
    """This is why an AMI is set: the default of g4dn, g5 and p4d supports CUDA 11.4."""
    oldest = min(float(facts.cuda or 0) for kind in image_kinds() for facts in endpoint_images(kind, "gpu").values())
    assert all(float(default_cuda(family) or 0) < oldest for family in ("g4dn", "g5", "p4d", "p4de"))


def test_image_accounts_of_regions() -> None:
    (vllm, *_) = endpoint_images("vllm", "gpu").values()
    assert image_account_of("us-west-2") == "763104351884"
    assert image_account_of("cn-north-1") == "727897471807"
    assert {"us-west-2", "eu-west-1", "ap-southeast-7"} <= set(image_regions_of(vllm))
    # The same accounts as those of the images that services have of these regions.
    for regions in load("image_accounts").values():
        assert {region: image_account_of(region) for region in regions} == regions


def member_of_model(service: str, name: str) -> Any:
    return botocore.session.get_session().get_service_model(service).shape_for(name)


def limit(service: str, name: str) -> Limit:
    found = member_of_model(service, name).metadata
    return Limit(minimum=found.get("min"), maximum=found.get("max"))


def test_waits_and_alarms_of_a_rollout_are_those_of_the_api() -> None:
    facts = rollout_facts()
    assert facts.bake_seconds == limit("sagemaker", "WaitIntervalInSeconds")
    assert facts.termination_wait_seconds == limit("sagemaker", "TerminationWaitInSeconds")
    assert facts.timeout_seconds == limit("sagemaker", "MaximumExecutionTimeoutInSeconds")
    assert facts.alarms == limit("sagemaker", "AlarmList")
    assert {kind.name for kind in RolloutKind} - {"ROLLING"} == set(
        member_of_model("sagemaker", "TrafficRoutingConfigType").enum
    )


def test_the_service_documents_the_steps_of_a_rollout() -> None:
    canary = member_of_model("sagemaker", "TrafficRoutingConfig").members
    rolling = member_of_model("sagemaker", "RollingUpdatePolicy").members["MaximumBatchSize"]
    steps = rollout_facts().step_percent
    assert f"less than or equal to {steps['CANARY'].maximum}%" in canary["CanarySize"].documentation
    assert f"{steps['LINEAR'].minimum}-{steps['LINEAR'].maximum}%" in canary["LinearStepSize"].documentation
    assert f"between {steps['ROLLING'].minimum}% to {steps['ROLLING'].maximum}%" in rolling.documentation


def test_data_capture_is_that_of_the_api() -> None:
    facts, percent = capture_facts(), limit("sagemaker", "SamplingPercentage")
    assert (percent.minimum, facts.percent.maximum) == (0, percent.maximum)  # only the service accepts 0
    assert facts.uri.maximum == limit("sagemaker", "DestinationS3Uri").maximum


def test_scaling_metrics_are_those_of_the_api() -> None:
    facts = endpoint_scaling_facts()
    assert facts.dimension in member_of_model("application-autoscaling", "ScalableDimension").enum
    assert {facts.concurrent_metric, facts.invocations_metric} <= set(
        member_of_model("application-autoscaling", "MetricType").enum
    )


def test_final_and_waiting_statuses_are_those_of_the_api() -> None:
    statuses = member_of_model("sagemaker", "EndpointStatus").enum
    waits = set(time_to_live_facts().statuses_that_wait)
    assert set(statuses) - waits == {"InService", "OutOfService", "Failed", "UpdateRollbackFailed"}
    assert waits - {"Deleting"} == IN_BETWEEN  # the function has its own copy, since it does not import llm-fleet


def test_limits_of_budgets_and_rules_are_those_of_the_apis() -> None:
    assert (budget_facts().emails.maximum or 0) + 1 == limit("budgets", "Subscribers").maximum  # one is the topic
    assert time_to_live_facts().seconds.minimum == 60 * time_to_live_facts().check_minutes
