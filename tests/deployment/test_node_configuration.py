"""What the drill's nodes find in their bucket, and what their role lets them do, in a local emulation."""

from collections.abc import Generator

import pytest
from botocore.exceptions import ClientError

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import ROOT, synthesize
from tests.deployment.fleet_on_aws import FleetOnAws


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory, few_scripts: object) -> Generator[FleetOnAws]:
    """The fleet whose bundle the drill runs; of its bundle, these tests read the manifest alone."""
    del few_scripts
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        assembly = synthesize(tmp_path_factory.mktemp("drill") / "cdk.out", ROOT / "examples/hyperpod-drill.yaml")
        report = aws.deploy(assembly)
        assert report.succeeded, report
        yield FleetOnAws(aws, assembly, cluster_name="train")


def test_groups_run_the_script_that_configures_slurm(drill: FleetOnAws):
    for group in drill.cluster["InstanceGroups"]:
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"
    assert {group["hook"] for group in drill.manifest["groups"]} == {"OnCreate"}


def test_users_and_accounting_are_those_of_the_fleet_file(drill: FleetOnAws):
    reported = drill.manifest
    assert [(user["name"], user["uid"], user["gid"], user["sudo"]) for user in reported["users"]] == [
        ("ada", 2001, 2001, True),
        ("grace", 2002, 2002, False),
    ]
    assert reported["accounting"]["kind"] == "local"
    assert reported["downloads"]["source"] == "mirror"


def test_both_file_systems_are_reported_by_the_names_that_they_have(drill: FleetOnAws):
    found = {system["DNSName"] for system in drill.aws.client("fsx").describe_file_systems()["FileSystems"]}
    assert {mount["dns_name"] for mount in drill.manifest["mounts"]} == found
    assert {mount["mount_path"]: mount["groups"] for mount in drill.manifest["mounts"]} == {"/fsx": None, "/home": None}


def test_reports_are_written_where_the_role_can_write_and_not_read(drill: FleetOnAws):
    bucket, prefix = drill.bundle
    place = drill.manifest["reports"]["s3_uri"]
    assert place == f"s3://{bucket}/reports/drill/train/"
    key = place.removeprefix(f"s3://{bucket}/") + "node/report.json"
    with drill.aws.as_role(drill.group("workers")["ExecutionRole"]) as client:
        s3 = client("s3")
        s3.put_object(Bucket=bucket, Key=key, Body=b"{}")
        with pytest.raises(ClientError, match=r"Access ?Denied"):
            s3.get_object(Bucket=bucket, Key=key)
        with pytest.raises(ClientError, match=r"Access ?Denied"):
            s3.put_object(Bucket=bucket, Key=f"{prefix}/fleet.json", Body=b"{}")
    found = drill.aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    assert found == b"{}", "the owner of the bucket can read it"
