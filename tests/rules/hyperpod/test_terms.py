"""The vocabularies of rules/terms.py are those of botocore's model of HyperPod."""

from enum import StrEnum
from typing import Any

import pytest
from botocore.session import get_session

from llm_fleet.rules import terms

SHAPES: dict[str, type[StrEnum]] = {
    "ClusterSlurmNodeType": terms.NodeType,
    "ClusterSlurmConfigStrategy": terms.SlurmConfigStrategy,
    "ClusterNodeRecovery": terms.NodeRecovery,
    "ClusterNodeProvisioningMode": terms.NodeProvisioningMode,
    "DeepHealthCheckType": terms.DeepHealthCheck,
    "ClusterPatchingStrategy": terms.PatchingStrategy,
    "ClusterOnDrainTimeout": terms.OnDrainTimeout,
    "NodeUnavailabilityType": terms.CapacityUnit,
}


@pytest.fixture(scope="module")
def sagemaker() -> Any:
    return get_session().get_service_model("sagemaker")


@pytest.mark.parametrize(("shape", "term"), SHAPES.items(), ids=SHAPES)
def test_values_are_those_of_the_service(sagemaker: Any, shape: str, term: type[StrEnum]):
    assert {member.value for member in term} == set(sagemaker.shape_for(shape).enum)


def test_lifecycle_hooks_are_those_of_the_service(sagemaker: Any):
    members = set(sagemaker.shape_for("ClusterLifeCycleConfig").members)
    assert {hook.value for hook in terms.LifecycleHook} == members - {"SourceS3Uri"}
