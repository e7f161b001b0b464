"""A small fleet with a cluster, its file system and Studio, deployed to a local emulation and read back."""

import base64
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from tests.deployment.conftest import synthesize

pytestmark = pytest.mark.usefixtures("few_scripts")

FLEET = """
fleet: lab
region: us-west-2
network: {az: usw2-az4}
storage:
  fsx: {size: 4800 GiB, throughput: 250 MB/s/TiB}
  buckets: {data: {name: lab-data}}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.c5.xlarge, count: 1}
      workers: {role: compute, type: ml.g5.8xlarge, count: 1, partition: gpu}
    users: {alice: {uid: 10001}}
studio:
  users: {alice: {}}
  clusters: [train]
  buckets: [data]
"""


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalAws]:
    """The fleet, for tests that only read it; the last one removes Studio."""
    folder: Path = tmp_path_factory.mktemp("lab")
    file = folder / "fleet.yaml"
    file.write_text(FLEET)
    with LocalAws(region="us-west-2") as made:
        made.bootstrap()
        report = made.deploy(synthesize(folder / "cdk.out", file))
        assert report.succeeded, report
        yield made


@pytest.fixture(scope="module")
def domain(aws: LocalAws) -> dict[str, Any]:
    client = aws.client("sagemaker")
    (only,) = client.list_domains()["Domains"]
    return client.describe_domain(DomainId=only["DomainId"])


def test_alice_is_the_same_person_on_fsx_in_both_places(aws: LocalAws, domain: dict[str, Any]):
    profile = aws.client("sagemaker").describe_user_profile(DomainId=domain["DomainId"], UserProfileName="alice")
    assert profile["UserSettings"]["CustomPosixUserConfig"] == {"Uid": 10001, "Gid": 10001}
    (file_system,) = aws.client("fsx").describe_file_systems()["FileSystems"]
    (mounted,) = domain["DefaultUserSettings"]["CustomFileSystemConfigs"]
    assert mounted["FSxLustreFileSystemConfig"]["FileSystemId"] == file_system["FileSystemId"]
    assert domain["SubnetIds"] == file_system["SubnetIds"]


def test_applications_reach_the_file_system_and_not_the_nodes(aws: LocalAws, domain: dict[str, Any]):
    ec2 = aws.client("ec2")
    (file_system,) = aws.client("fsx").describe_file_systems()["FileSystems"]
    (interface, *_) = ec2.describe_network_interfaces(NetworkInterfaceIds=file_system["NetworkInterfaceIds"])[
        "NetworkInterfaces"
    ]
    subnet = domain["SubnetIds"][0]
    studio = Place(groups=tuple(domain["DefaultUserSettings"]["SecurityGroups"]), subnet_id=subnet)
    server = Place(groups=tuple(group["GroupId"] for group in interface["Groups"]), subnet_id=subnet)
    reach = Reachability(ec2)
    assert reach.port(studio, server, 988) == []
    assert reach.port(server, studio, 988) == []
    cluster = aws.client("sagemaker").describe_cluster(ClusterName="train")
    nodes = Place(groups=tuple(cluster["VpcConfig"]["SecurityGroupIds"]), subnet_id=subnet)
    assert reach.port(studio, nodes, 22) != []


def test_people_look_at_their_cluster_and_write_to_their_bucket_alone(aws: LocalAws, domain: dict[str, Any]):
    aws.client("s3").create_bucket(Bucket="elsewhere", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    with aws.as_role(domain["DefaultUserSettings"]["ExecutionRole"]) as client:
        client("sagemaker").list_clusters()
        client("s3").put_object(Bucket="lab-data", Key="a", Body=b"a")
        for forbidden in (
            lambda: client("s3").put_object(Bucket="elsewhere", Key="a", Body=b"a"),
            lambda: client("sagemaker").delete_domain(DomainId=domain["DomainId"]),
            lambda: client("sagemaker").delete_cluster(ClusterName="train"),
        ):
            with pytest.raises(ClientError, match="AccessDenied"):
                forbidden()


def test_the_scripts_hold_the_way_to_the_cluster(aws: LocalAws, domain: dict[str, Any]):
    (arn,) = domain["DefaultUserSettings"]["JupyterLabAppSettings"]["LifecycleConfigArns"]
    reported = aws.client("sagemaker").describe_studio_lifecycle_config(
        StudioLifecycleConfigName=arn.rpartition("/")[2]
    )
    script = base64.b64decode(reported["StudioLifecycleConfigContent"]).decode()
    assert script.startswith("#!/bin/bash\n")
    assert '"bucket":"lab-data"' in script.replace(" ", "")
    assert len(reported["StudioLifecycleConfigContent"]) <= 16384


def test_studio_goes_in_its_order_and_leaves_nothing_in_the_network(aws: LocalAws, domain: dict[str, Any]):
    cloudformation = aws.client("cloudformation")
    cloudformation.delete_stack(StackName="lab-studio")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="lab-studio", WaiterConfig={"Delay": 1})
    client = aws.client("sagemaker")
    assert client.list_domains()["Domains"] == []
    groups = aws.client("ec2").describe_security_groups()["SecurityGroups"]
    assert not set(domain["DefaultUserSettings"]["SecurityGroups"]) & {group["GroupId"] for group in groups}
