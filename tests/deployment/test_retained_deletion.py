"""`llm-fleet retained --delete` in a local emulation: nothing is left, wherever it was interrupted."""

import io
import json
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import botocore.client
import pytest

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.main import main
from llm_fleet.cli.retained.network_others import others_in
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.retained_fleet import RetainedFleet

Capture = pytest.CaptureFixture[str]
_READS = ("Describe", "Get", "List", "Head")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[RetainedFleet]:
    """A fleet after its first life, for one test."""
    with LocalAws(region="us-west-2") as aws:
        fleet = RetainedFleet(aws, tmp_path, monkeypatch)
        fleet.live_once()
        yield fleet


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Generator[RetainedFleet]:
    """A fleet after its first life, of which nothing may be deleted."""
    with LocalAws(region="us-west-2") as aws, pytest.MonkeyPatch.context() as monkeypatch:
        fleet = RetainedFleet(aws, tmp_path_factory.mktemp("dead"), monkeypatch)
        fleet.live_once()
        yield fleet


def codes(fleet: RetainedFleet, capsys: Capture, *words: str, code: int) -> set[str]:
    """Return the codes of the problems of a deletion that exits with `code`."""
    capsys.readouterr()
    assert main(["retained", str(fleet.file), "--delete", "--json", *words]) == code
    return {problem["code"] for problem in json.loads(capsys.readouterr().out)["problems"]}


class Killed(BaseException):
    """The process ends here."""


def _killed_after(call: Callable[..., Any], changes: list[str]) -> Callable[..., Any]:
    """Return `call` that ends the process after its first change, whose response is lost."""

    def ends(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        response = call(client, operation, parameters)
        if not operation.startswith(_READS):
            changes.append(operation)
            raise Killed(operation)
        return response

    return ends


def test_a_deletion_that_is_interrupted_after_each_change_ends_clean(
    fleet: RetainedFleet, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    s3, bucket, keys = fleet.aws.client("s3"), fleet.bucket, fleet.left()["keys"]
    s3.put_object(Bucket=bucket, Key="models/one", Body=b"a second version")
    s3.delete_object(Bucket=bucket, Key="models/one")
    s3.create_multipart_upload(Bucket=bucket, Key="models/two")
    before = fleet.left()

    for typed in ("launch\n", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        assert main(["retained", str(fleet.file), "--delete"]) == 1
        assert "LF1232" in capsys.readouterr().err
    assert main(["retained", str(fleet.file), "--delete", "--json"]) == 2  # JSON has no prompt.
    assert "requires --yes NAME" in capsys.readouterr().err
    assert codes(fleet, capsys, "--yes", "launch", code=1) == {"LF1232"}
    one_key = min(keys)
    assert codes(fleet, capsys, "--yes", "launch-post", "--only", one_key, code=1) == {"LF1235"}
    assert fleet.left() == before

    # A call that reads changes nothing, so an interruption there is one after the change before it.
    changes: list[str] = []
    call = vars(botocore.client.BaseClient)["_make_api_call"]
    while True:
        count = len(changes)
        with monkeypatch.context() as patched:
            patched.setattr(botocore.client.BaseClient, "_make_api_call", _killed_after(call, changes))
            patched.setattr(sys, "stdin", io.StringIO("launch-post\n"))
            try:
                assert main(["retained", str(fleet.file), "--delete"]) == 0
                break
            except Killed:
                assert len(changes) == count + 1
    assert fleet.left() == {}
    assert {"DeleteFileSystem", "DeleteObjects", "AbortMultipartUpload", "DeleteVpc"} < set(changes)
    assert changes.count("DeleteFileSystem") == 2
    assert changes.count("ScheduleKeyDeletion") == 2
    assert "no retained resources" in capsys.readouterr().out
    for key in keys:
        metadata = fleet.aws.client("kms").describe_key(KeyId=key)["KeyMetadata"]
        assert metadata["KeyState"] == "PendingDeletion"


def test_a_network_that_others_use_is_kept_and_so_is_what_a_service_refuses(fleet: RetainedFleet, capsys: Capture):
    aws = fleet.aws
    foreign = aws.client("ec2").create_security_group(GroupName="other", Description="other", VpcId=fleet.vpc)
    ec2 = aws.client("ec2")
    gateway = ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    ec2.attach_vpn_gateway(VpnGatewayId=gateway, VpcId=fleet.vpc)
    egress = ec2.create_egress_only_internet_gateway(VpcId=fleet.vpc)["EgressOnlyInternetGateway"]
    acl = ec2.create_network_acl(VpcId=fleet.vpc)["NetworkAcl"]["NetworkAclId"]
    (peer,) = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    peering = ec2.create_vpc_peering_connection(VpcId=fleet.vpc, PeerVpcId=peer["VpcId"])["VpcPeeringConnection"]
    others = {
        foreign["GroupId"],
        gateway,
        egress["EgressOnlyInternetGatewayId"],
        acl,
        peering["VpcPeeringConnectionId"],
    }
    ours = {id for ids in fleet.left().values() for id in ids} - others
    found = others_in(AwsClients(region="us-west-2"), fleet.vpc, ours)
    # The file systems' interfaces are deleted with them.
    assert {id for id in found if not id.startswith("eni-")} == others
    aws.refuse_calls("AccessDeniedException", service="logs", operation="DeleteLogGroup")
    assert codes(fleet, capsys, "--yes", "launch-post", code=1) == {"LF1004", "LF1233"}
    aws.refuse_calls("AccessDeniedException", times=0)
    left = fleet.left()
    assert "buckets" not in left
    assert {len(left[kind]) for kind in ("VPCs", "subnets", "log groups")} == {1}
    assert {len(left[kind]) for kind in ("file systems", "keys")} == {2}
    # A key is kept although it is named: file systems and the log group may be encrypted with it.
    assert codes(fleet, capsys, "--yes", "launch-post", "--only", min(left["keys"]), code=1) == {"LF1235"}
    ec2.delete_security_group(GroupId=foreign["GroupId"])
    ec2.detach_vpn_gateway(VpnGatewayId=gateway, VpcId=fleet.vpc)
    ec2.delete_egress_only_internet_gateway(EgressOnlyInternetGatewayId=egress["EgressOnlyInternetGatewayId"])
    ec2.delete_network_acl(NetworkAclId=acl)
    ec2.delete_vpc_peering_connection(VpcPeeringConnectionId=peering["VpcPeeringConnectionId"])
    assert codes(fleet, capsys, "--yes", "launch-post", code=0) == set()
    assert fleet.left() == {}


def test_file_systems_and_keys_in_a_vpc_that_others_use_are_deleted_only_by_their_ids(
    fleet: RetainedFleet, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    ec2, before = fleet.aws.client("ec2"), fleet.left()
    (subnet,) = before["subnets"]
    foreign = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"]
    main(["retained", str(fleet.file), "--json"])
    listed = json.loads(capsys.readouterr().out)["retained"]
    used = {one["kind"] for one in listed if one["vpc_users"] == [foreign]}
    assert used == {"file system", "VPC", "subnet", "security group", "KMS key"}
    assert all(not one["vpc_users"] for one in listed if one["kind"] not in used)

    # What others use is shown before the confirmation, and kept after it.
    monkeypatch.setattr(sys, "stdin", io.StringIO("launch\n"))
    assert main(["retained", str(fleet.file), "--delete"]) == 1
    shown = capsys.readouterr()
    (lustre, home) = (line for line in shown.out.splitlines() if line.startswith("file system "))
    assert foreign in lustre
    assert foreign in home
    assert shown.err.index("LF1233") < shown.err.index("in VPCs that others use. Type the fleet's name")
    monkeypatch.setattr(sys, "stdin", io.StringIO("launch-post\n"))
    assert main(["retained", str(fleet.file), "--delete"]) == 1
    assert capsys.readouterr().err.count("LF1233") == 1
    left = fleet.left()
    kept = ("file systems", "keys", "VPCs", "subnets", "security groups")
    assert {kind: left[kind] for kind in kept} == {kind: before[kind] for kind in kept}
    assert {"buckets", "log groups"}.isdisjoint(left)

    # An unknown answer is like a use.
    fleet.aws.refuse_calls("UnauthorizedOperation", service="ec2", operation="DescribeNetworkInterfaces")
    assert codes(fleet, capsys, "--yes", "launch-post", code=3) == {"LF1004"}
    fleet.aws.refuse_calls("UnauthorizedOperation", times=0)
    assert fleet.left() == left

    one = min(before["file systems"])
    assert codes(fleet, capsys, "--yes", "launch-post", "--only", one, code=0) == set()
    assert fleet.left()["file systems"] == before["file systems"] - {one}
    ec2.delete_network_interface(NetworkInterfaceId=foreign)
    assert codes(fleet, capsys, "--yes", "launch-post", code=0) == set()
    assert fleet.left() == {}


@pytest.mark.parametrize(
    ("service", "operation"),
    [("cloudformation", "ListStacks"), ("cloudformation", "DescribeStackResources"), ("tagging", "GetResources")],
)
def test_nothing_is_deleted_or_adopted_without_the_answer_whose_the_resources_are(
    dead: RetainedFleet, capsys: Capture, service: str, operation: str
):
    before, text = dead.left(), dead.file.read_text(encoding="utf-8")
    dead.aws.refuse_calls("ThrottlingException", service=service, operation=operation)
    try:
        assert codes(dead, capsys, "--yes", "launch-post", code=3) == {"LF1005"}
        assert main(["retained", str(dead.file), "--adopt"]) == 3
    finally:
        dead.aws.refuse_calls("ThrottlingException", times=0)
    assert dead.left() == before
    assert dead.file.read_text(encoding="utf-8") == text
