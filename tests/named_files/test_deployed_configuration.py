"""The last deployed configuration, in each supported format."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.named_files.deployed_configuration import DeployedConfiguration, parse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.update_check import with_digests
from llm_fleet.rules.problem import FleetError

_URL = "https://us-west-2-aws-parallelcluster.s3.us-west-2.amazonaws.com/parallelcluster/3.16.1/templates/x.yaml"
_CONFIGURATION: dict[str, Any] = {
    "HeadNode": {"InstanceType": "c5.large", "Networking": {"SubnetId": {"Ref": "Subnet"}}},
    "Scheduling": {
        "SlurmQueues": [
            {
                "Name": "q",
                "CustomActions": {"OnNodeConfigured": {"Script": {"Fn::GetAtt": ["Scripts", "Uri"]}}},
            }
        ]
    },
}


def cluster(name: Any = "train-12345678", provider: str = "Provider") -> dict[str, Any]:
    return {
        "Type": "Custom::PclusterCluster",
        "Properties": {
            "ServiceToken": {"Fn::GetAtt": [provider, "Outputs.ServiceToken"]},
            "ClusterName": name,
            "ClusterConfiguration": _CONFIGURATION,
        },
    }


def template(url: Any = _URL, scripts: str = "one", **clusters: Any) -> dict[str, Any]:
    return {
        "Resources": {
            "Provider": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}},
            "Scripts": {"Type": "Custom::LifecycleBundle", "Properties": {"Digest": scripts}},
            **clusters,
        }
    }


def read(tmp_path: Path, content: Any, cluster: str | None = None) -> DeployedConfiguration:
    file = tmp_path / "deployed"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return DeployedConfiguration.from_file(file, cluster=cluster)


def rejected(tmp_path: Path, content: Any, cluster: str | None = None) -> Any:
    with pytest.raises(FleetError) as error:
        read(tmp_path, content, cluster)
    (problem,) = error.value.problems
    assert str(tmp_path) in str(error.value)
    return problem


@pytest.mark.parametrize("wrap", ["itself", "get-template", "get-template of YAML"])
def test_a_template_is_read(tmp_path: Path, wrap: str) -> None:
    plain = template(Cluster=cluster())
    content = {
        "itself": plain,
        "get-template": {"TemplateBody": plain, "StagesAvailable": ["Original"]},
        "get-template of YAML": {"TemplateBody": yaml.safe_dump(plain), "StagesAvailable": ["Original"]},
    }[wrap]
    deployed = read(tmp_path, content)
    assert deployed.configuration == _CONFIGURATION
    assert (deployed.cluster_name, deployed.version) == ("train-12345678", "3.16.1")
    assert deployed.source == str(tmp_path / "deployed")


def test_the_version_is_read_from_a_joined_url(tmp_path: Path) -> None:
    joined = {"Fn::Join": ["", ["https://", {"Ref": "AWS::Region"}, "-aws/parallelcluster/3.16.2/templates/x.yaml"]]}
    assert read(tmp_path, template(joined, Cluster=cluster())).version == "3.16.2"
    assert read(tmp_path, template({"Ref": "Url"}, Cluster=cluster())).version is None
    assert read(tmp_path, template(Cluster=cluster({"Ref": "Name"}))).cluster_name is None


def test_short_forms_of_functions_are_read(tmp_path: Path) -> None:
    deployed = read(
        tmp_path,
        """
        Resources:
          Cluster:
            Type: Custom::PclusterCluster
            Properties:
              ServiceToken: !GetAtt Provider.Outputs.ServiceToken
              ClusterName: train
              ClusterConfiguration:
                HeadNode:
                  Networking: {SubnetId: !Ref Subnet}
                  Image: !If [Own, !Sub "ami-${Id}", !GetAtt [Image, Id]]
                  Since: 2026-01-01
                  Map: !FindInMap [A, B, C]
        """,
    )
    assert deployed.configuration["HeadNode"] == {
        "Networking": {"SubnetId": {"Ref": "Subnet"}},
        "Image": {"Fn::If": ["Own", {"Fn::Sub": "ami-${Id}"}, {"Fn::GetAtt": ["Image", "Id"]}]},
        "Since": "2026-01-01",
        "Map": {"Fn::FindInMap": ["A", "B", "C"]},
    }


def test_an_attribute_of_a_nested_stack_keeps_its_dots() -> None:
    assert parse("!GetAtt Stack.Outputs.Id") == {"Fn::GetAtt": ["Stack", "Outputs.Id"]}


def test_parallelclusters_configuration_file_is_read(tmp_path: Path) -> None:
    deployed = read(tmp_path, yaml.safe_dump(_CONFIGURATION))
    assert deployed.configuration == _CONFIGURATION
    assert (deployed.cluster_name, deployed.version) == (None, None)


@pytest.mark.parametrize("name", ["train-12345678", "train", "Cluster"])
def test_one_of_several_clusters_is_selected(tmp_path: Path, name: str) -> None:
    several = template(Cluster=cluster(), Other=cluster("other-87654321"))
    assert read(tmp_path, several, name).cluster_name == "train-12345678"


def test_several_clusters_require_a_name(tmp_path: Path) -> None:
    problem = rejected(tmp_path, template(Cluster=cluster(), Other=cluster("other-87654321")))
    assert problem.code is Code.PC_DEPLOYED_CLUSTER
    assert problem.allowed == "train-12345678, other-87654321"


def test_an_unknown_cluster_is_reported(tmp_path: Path) -> None:
    problem = rejected(tmp_path, template(Cluster=cluster()), "trainn")
    assert (problem.code, problem.value) == (Code.PC_DEPLOYED_CLUSTER, "trainn")
    assert rejected(tmp_path, template()).code is Code.PC_DEPLOYED_CLUSTER


def test_a_missing_file_is_allowed_for_a_cluster_that_is_not_deployed_yet(tmp_path: Path) -> None:
    file = tmp_path / "deployed.json"
    file.write_text('{"Resources": {}}')
    assert DeployedConfiguration.if_deployed(file, cluster="train") is None
    file.write_text(json.dumps(template(Cluster=cluster())))
    found = DeployedConfiguration.if_deployed(file, cluster="train")
    assert found is not None
    assert found.cluster_name == "train-12345678"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[1, 2]", Code.PC_DEPLOYED_SHAPE),
        ("", Code.PC_DEPLOYED_SHAPE),
        ("clusters: {}", Code.PC_DEPLOYED_SHAPE),
        ('{"Resources": []}', Code.PC_DEPLOYED_SHAPE),
        ("a: [", Code.PC_DEPLOYED_UNREADABLE),
        ("!!python/object/apply:os.system [true]", Code.PC_DEPLOYED_UNREADABLE),
        ('{"TemplateBody": "a: ["}', Code.PC_DEPLOYED_UNREADABLE),
        ("\x00", Code.PC_DEPLOYED_UNREADABLE),
    ],
)
def test_an_invalid_configuration_is_reported(tmp_path: Path, content: str, code: Code) -> None:
    assert rejected(tmp_path, content).code is code


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(FleetError) as error:
            DeployedConfiguration.from_file(place)
        assert error.value.problems[0].code is Code.PC_DEPLOYED_UNREADABLE
    large = tmp_path / "large"
    large.write_bytes(b" " * (8 * 1024 * 1024 + 1))
    with pytest.raises(FleetError, match="more than 8,388,608 bytes"):
        DeployedConfiguration.from_file(large)


def test_digests_distinguish_published_scripts(tmp_path: Path) -> None:
    one, same, two = (read(tmp_path, template(scripts=scripts, Cluster=cluster())) for scripts in ("one", "one", "two"))
    marked = [with_digests(deployed.configuration, deployed.script_digests) for deployed in (one, same, two)]
    assert marked[0] == marked[1] != marked[2]
    assert one.configuration == two.configuration
    script = marked[0]["Scheduling"]["SlurmQueues"][0]["CustomActions"]["OnNodeConfigured"]["Script"]["Fn::GetAtt"]
    assert script[:2] == ["Scripts", "Uri"]
    assert len(script) == 3
