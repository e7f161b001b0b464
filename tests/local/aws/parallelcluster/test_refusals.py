"""The provider's stand-in rejects what AWS's provider rejects; then nothing is created."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from llm_fleet_local.aws.parallelcluster.handed_over import KEYWORDS
from llm_fleet_local.parallelcluster.client import provide_environment
from tests.local.aws.parallelcluster.clusters import Clusters
from tests.local.parallelcluster.configurations import with_change

QUEUE = "Scheduling/SlurmQueues/0"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("Image/Os", "alinux2", "Image/Os: Must be one of"),
        (f"{QUEUE}/Name", "x" * 26, "at most 25 chars long"),
        (f"{QUEUE}/Networking/SubnetIds", ["subnet-0123456789abcdef0"], "subnet-0123456789abcdef0"),
        ("HeadNode/Networking/AdditionalSecurityGroups", ["sg-0123456789abcdef0"], "sg-0123456789abcdef0"),
        (
            "HeadNode/CustomActions/OnNodeConfigured/Script",
            "s3://scripts/none.sh",
            "which do not exist: s3://scripts/none.sh",
        ),
        (
            "HeadNode/Iam/AdditionalIamPolicies/0/Policy",
            "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly",
            "iam:AttachRolePolicy",
        ),
        (
            "HeadNode/Iam/AdditionalIamPolicies/0/Policy",
            "arn:aws:iam::123456789012:policy/parallelcluster-none",
            "AdditionalIamPolicyValidator",
        ),
    ],
)
def test_a_configuration_is_rejected(clusters: Clusters, path: str, value: Any, says: str):
    template = clusters.template("rejected-1", with_change(clusters.configuration(), path, value))
    assert clusters.deploy("rejected", template) == "ROLLBACK_COMPLETE"
    assert says in clusters.why("rejected")
    assert "rejected-1" not in clusters.names()
    clusters.destroy("rejected")


def _unknown_property(template: dict[str, Any]) -> None:
    template["Resources"]["Cluster"]["Properties"]["ServiceTimeout"] = 60


def _no_configuration(template: dict[str, Any]) -> None:
    del template["Resources"]["Cluster"]["Properties"]["ClusterConfiguration"]


def _bad_name(template: dict[str, Any]) -> None:
    template["Resources"]["Cluster"]["Properties"]["ClusterName"] = "under_score"


def _long_name(template: dict[str, Any]) -> None:
    template["Resources"]["Cluster"]["Properties"]["ClusterName"] = "x" * 61


def _name_of_a_stack(template: dict[str, Any]) -> None:
    template["Resources"]["Cluster"]["Properties"]["ClusterName"] = "spoilt"


def _unknown_parameter(template: dict[str, Any]) -> None:
    template["Resources"]["Provider"]["Properties"]["Parameters"]["Nothing"] = "x"


def _unknown_policy(template: dict[str, Any]) -> None:
    arn = "arn:aws:iam::123456789012:policy/none"
    template["Resources"]["Provider"]["Properties"]["Parameters"]["AdditionalIamPolicies"] = arn


def _other_version(template: dict[str, Any]) -> None:
    provider = template["Resources"]["Provider"]["Properties"]
    provider["TemplateURL"] = provider["TemplateURL"].replace("3.16.1", "3.13.0")


def _other_region(template: dict[str, Any]) -> None:
    provider = template["Resources"]["Provider"]["Properties"]
    provider["TemplateURL"] = provider["TemplateURL"].replace("us-west-2", "us-east-1")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_unknown_property, "<create-cluster> got unexpected arguments: {'service_timeout'}"),
        (_no_configuration, "configuration is required"),
        (_bad_name, "does not match"),
        (_long_name, "can't be longer than 60 characters"),
        (_name_of_a_stack, "Cluster spoilt already exists"),
        (_unknown_parameter, "Nothing"),
        (_unknown_policy, "NoSuchEntity"),
        (_other_version, "3.16.x only, not 3.13.0"),
        (_other_region, "works only in that Region"),
    ],
)
def test_a_template_is_rejected(clusters: Clusters, spoil: Callable[[dict[str, Any]], None], says: str):
    template = clusters.template("spoilt-1", clusters.configuration())
    spoil(template)
    assert clusters.deploy("spoilt", template) == "ROLLBACK_COMPLETE"
    assert says in clusters.why("spoilt")
    clusters.destroy("spoilt")


def test_the_transform_must_be_acknowledged(clusters: Clusters):
    template = clusters.template("capable-1", clusters.configuration())
    assert clusters.deploy("capable", template, capabilities=["CAPABILITY_NAMED_IAM"]) == "ROLLBACK_COMPLETE"
    assert "Requires capabilities : [CAPABILITY_AUTO_EXPAND]" in clusters.why("capable")
    clusters.destroy("capable")


def test_the_arguments_of_its_operations_are_those_of_its_api():
    (model,) = provide_environment().glob("lib/python*/site-packages/pcluster/api/openapi/openapi.yaml")
    paths = yaml.load(model.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["paths"]
    operations = {one["operationId"]: one for path in paths.values() for one in path.values()}
    for operation, words in KEYWORDS.items():
        parameters = operations[f"{operation}_cluster"]["parameters"]
        names = {"".join(f"_{c.lower()}" if c.isupper() else c for c in one["name"]) for one in parameters}
        # pcluster/lib/lib.py also accepts these, and the two of the request's body.
        assert words == names | {"cluster_name", "cluster_configuration", "wait", "query", "debug"}
