"""The AWS emulator rejects the notebook instances that SageMaker rejects."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ReplacementNeeded, ResourceFailed
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_endpoints import let_interfaces_linger
from tests.local.aws.resources.notebook_cases import CONFIG, NOTEBOOK, make_parts
from tests.local.aws.resources.support import Deployer, Network

TYPE = "AWS::SageMaker::NotebookInstance"


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"RoleArn": "arn:aws:iam::123456789012:role/missing"}, "does not exist"),
        ({"PlatformIdentifier": "notebook-al2-v3"}, "is retired"),
        ({"InstanceType": "ml.p3.2xlarge"}, "is not supported by notebook-al2023-v1"),
        ({"LifecycleConfigName": "others"}, "Could not find .*notebook-instance-lifecycle-config/others"),
        ({"DefaultCodeRepository": "others"}, "Could not find .*code-repository/others"),
        ({"DirectInternetAccess": "Disabled"}, "only with a subnet"),
        ({"SubnetId": "subnet-1"}, "security groups are required"),
        ({"SubnetId": "subnet-1", "SecurityGroupIds": ["sg-1"]}, "The subnet ID 'subnet-1'"),
    ],
)
def test_what_sagemaker_rejects(deployer: Deployer, change: dict[str, Any], reported: str) -> None:
    make_parts(deployer)
    with pytest.raises(ResourceFailed, match=reported):
        deployer.create(TYPE, **NOTEBOOK | change)


def test_an_instance_in_a_subnet_is_returned_with_its_network(deployer: Deployer) -> None:
    make_parts(deployer)
    network = Network(deployer)
    placed = {"SubnetId": network.subnet, "SecurityGroupIds": [network.group], "DirectInternetAccess": "Disabled"}
    properties: dict[str, Any] = NOTEBOOK | placed
    created = deployer.create(TYPE, **properties)
    reported = deployer.client("sagemaker").describe_notebook_instance(NotebookInstanceName="lab")
    assert (reported["SubnetId"], reported["SecurityGroups"]) == (network.subnet, [network.group])
    assert reported["DirectInternetAccess"] == "Disabled"
    assert reported["NetworkInterfaceId"].startswith("eni-")
    let_interfaces_linger(True)
    try:
        deployer.delete(TYPE, created, **properties)
        with pytest.raises(ResourceFailed, match=r"DependencyViolation.*SageMaker notebook lab"):
            deployer.delete("AWS::EC2::SecurityGroup", network.group_created)
    finally:
        let_interfaces_linger(False)
    deployer.client("ec2").delete_security_group(GroupId=network.group)


def test_an_instance_is_changed_and_deleted_only_when_it_is_stopped(deployer: Deployer) -> None:
    make_parts(deployer)
    created = deployer.create(TYPE, **NOTEBOOK)
    client = deployer.client("sagemaker")
    name: dict[str, Any] = {"NotebookInstanceName": "lab"}
    for call in (
        lambda: client.update_notebook_instance(**name, VolumeSizeInGB=60),
        lambda: client.delete_notebook_instance(**name),
        lambda: client.start_notebook_instance(**name),
    ):
        with pytest.raises(client.exceptions.ClientError, match=r"Status \(InService\) not in"):
            call()
    client.stop_notebook_instance(**name)
    with pytest.raises(client.exceptions.ClientError, match=r"Status \(Stopped\) not in \(\[InService\]\)"):
        client.stop_notebook_instance(**name)
    with pytest.raises(client.exceptions.ClientError, match="cannot become smaller"):
        client.update_notebook_instance(**name, VolumeSizeInGB=40)
    smaller = {name: value for name, value in NOTEBOOK.items() if name != "LifecycleConfigName"}
    deployer.update(TYPE, created, NOTEBOOK, smaller | {"VolumeSizeInGB": 60})
    reported = client.describe_notebook_instance(**name)
    assert "NotebookInstanceLifecycleConfigName" not in reported
    # It was stopped before the update, so it stays stopped.
    assert (reported["VolumeSizeInGB"], reported["NotebookInstanceStatus"]) == (60, "Stopped")
    deployer.delete(TYPE, created, **smaller)
    assert client.list_notebook_instances()["NotebookInstances"] == []


def test_the_platform_of_an_instance_cannot_change(deployer: Deployer) -> None:
    make_parts(deployer)
    created = deployer.create(TYPE, **NOTEBOOK)
    with pytest.raises(ReplacementNeeded, match="PlatformIdentifier"):
        deployer.update(TYPE, created, NOTEBOOK, NOTEBOOK | {"PlatformIdentifier": "notebook-al2-v3"})


def test_scripts_are_base64_and_cannot_be_deleted_while_in_use(deployer: Deployer) -> None:
    plain: dict[str, Any] = CONFIG | {"OnStart": [{"Content": "#!"}]}
    with pytest.raises(ResourceFailed, match="not base64"):
        deployer.create("AWS::SageMaker::NotebookInstanceLifecycleConfig", **plain)
    make_parts(deployer)
    deployer.create(TYPE, **NOTEBOOK)
    client = deployer.client("sagemaker")
    with pytest.raises(client.exceptions.ClientError, match="is used by lab"):
        client.delete_notebook_instance_lifecycle_config(NotebookInstanceLifecycleConfigName="pins")
