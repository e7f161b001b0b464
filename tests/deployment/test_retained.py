"""`llm-fleet retained`: what a destroyed fleet left behind in a local emulation, and its second life."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.main import main
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.retained_fleet import OBJECT, RetainedFleet

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Generator[RetainedFleet]:
    """A fleet after its first life, for tests that only read it."""
    with LocalAws(region="us-west-2") as aws, pytest.MonkeyPatch.context() as monkeypatch:
        fleet = RetainedFleet(aws, tmp_path_factory.mktemp("dead"), monkeypatch)
        fleet.live_once()
        yield fleet


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[RetainedFleet]:
    """A fleet after its first life, for one test."""
    with LocalAws(region="us-west-2") as aws:
        fleet = RetainedFleet(aws, tmp_path, monkeypatch)
        fleet.live_once()
        yield fleet


@pytest.fixture
def environment(dead: RetainedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in dead.aws.environment.items():
        monkeypatch.setenv(name, value)


def listed(fleet: RetainedFleet, capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["retained", str(fleet.file), "--json", *words]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("environment")
def test_everything_that_is_left_is_listed_with_its_key(dead: RetainedFleet, capsys: Capture):
    found = listed(dead, capsys)["retained"]
    names = {
        "VPC": "VPCs", "subnet": "subnets", "file system": "file systems", "bucket": "buckets", "KMS key": "keys",
        "log group": "log groups", "security group": "security groups",
    }  # fmt: skip
    ids = {kind: {one["id"] for one in found if one["kind"] == name} for name, kind in names.items()}
    left = dead.left()
    # The VPC's default security group and the file systems' interfaces are deleted with them.
    default = left["security groups"] - ids["security groups"]
    assert len(default) == 1
    assert {**left, "security groups": ids["security groups"]} == {**ids, "interfaces": left["interfaces"]}
    assert {one["key"] for one in found} == {
        "network.existing.vpc", "network.existing.subnets", "network.existing.security_group", "network.existing.key",
        "storage.fsx.existing", "storage.home.existing", "storage.buckets.data", "storage.key", None,
    }  # fmt: skip
    assert all(one["reason"] for one in found if one["key"] is None)
    assert all(one["since"] for one in found)
    (lustre,) = (one for one in found if one["key"] == "storage.fsx.existing")
    assert (lustre["size"], lustre["month_usd"]) == ("4800 GiB", pytest.approx(4800 * 0.21))


@pytest.mark.usefixtures("environment")
def test_the_table_shows_unknown_prices(dead: RetainedFleet, capsys: Capture):
    assert main(["retained", "-f", str(dead.file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (home,) = (line for line in lines if line.endswith("storage.home.existing"))
    assert "no price known" in home
    assert "13 retained resources, $1,008.00 per month, and 7 without a known price" in lines


@pytest.mark.usefixtures("environment")
def test_only_lists_one_and_rejects_an_unknown_id(dead: RetainedFleet, capsys: Capture):
    (only,) = listed(dead, capsys, "--only", dead.vpc)["retained"]
    assert only["id"] == dead.vpc
    (problem,) = listed(dead, capsys, "--only", "vpc-other", code=1)["problems"]
    assert problem["code"] == "LF1239"


@pytest.mark.usefixtures("environment")
def test_a_service_that_refuses_is_reported_and_the_others_are_listed(dead: RetainedFleet, capsys: Capture):
    before = dead.file.read_text(encoding="utf-8")
    dead.aws.refuse_calls("AccessDeniedException", service="fsx")
    try:
        reported = listed(dead, capsys, code=3)
        assert main(["retained", str(dead.file), "--adopt"]) == 3
    finally:
        dead.aws.refuse_calls("AccessDeniedException", service="fsx", times=0)
    assert {problem["code"] for problem in reported["problems"]} == {"LF1004"}
    assert len(reported["retained"]) == 13
    assert [one["kind"] for one in reported["retained"] if not one["checked"]] == ["file system", "file system"]
    # Without the file systems' keys, the next deployment would create new ones.
    assert dead.file.read_text(encoding="utf-8") == before


@pytest.mark.usefixtures("environment")
def test_without_cloudformation_nothing_is_listed(dead: RetainedFleet, capsys: Capture):
    dead.aws.refuse_calls("AccessDenied", service="cloudformation")
    try:
        reported = listed(dead, capsys, code=3)
    finally:
        dead.aws.refuse_calls("AccessDenied", service="cloudformation", times=0)
    assert reported["retained"] == []
    assert reported["problems"]


@pytest.mark.usefixtures("environment")
def test_another_fleet_has_nothing(dead: RetainedFleet, tmp_path: Path, capsys: Capture):
    other = tmp_path / "other.yaml"
    # Its name is the beginning of the other's.
    other.write_text(dead.file.read_text(encoding="utf-8").replace("fleet: launch-post", "fleet: launch"))
    assert main(["retained", str(other)]) == 0
    assert capsys.readouterr().out == "launch in us-west-2: no retained resources\n"


def _obstacles(fleet: RetainedFleet, capsys: Capture) -> list[str]:
    """Return the problems that `llm-fleet check` reports about the network."""
    capsys.readouterr()
    main(["check", str(fleet.file), "--only", "network", "--json"])
    rows = json.loads(capsys.readouterr().out)["checks"]
    assert [row for row in rows if row["what"].startswith("missing parts of")]
    return [problem["message"] for row in rows for problem in row.get("problems", [])]


@pytest.mark.usefixtures("environment")
def test_data_whose_key_is_pending_deletion_is_not_adopted(dead: RetainedFleet, capsys: Capture):
    before = dead.file.read_text(encoding="utf-8")
    (key,) = (one["id"] for one in listed(dead, capsys)["retained"] if one["key"] == "storage.key")
    kms = dead.aws.client("kms")
    kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    try:
        assert key not in [one["id"] for one in listed(dead, capsys)["retained"]]
        (problem,) = listed(dead, capsys, "--adopt", code=1)["problems"]
    finally:
        kms.cancel_key_deletion(KeyId=key)
        kms.enable_key(KeyId=key)
    assert (problem["code"], problem["given"]) == ("LF1271", key)
    assert f"cancel-key-deletion --key-id {key}" in problem["remedy"]
    assert dead.file.read_text(encoding="utf-8") == before


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("network", "allowed"),
    [
        ("{az: usw2-az4, cidr: 10.8.0.0/16}", "set `cidr: 10.0.0.0/16`"),
        ("{az: usw2-az4, compute_cidr: 10.8.0.0/16}", "set `compute_cidr: 10.1.0.0/16`"),
        ("{azs: [usw2-az1, usw2-az4]}", "in the same order"),
    ],
)
def test_a_network_with_other_addresses_is_not_adopted(
    dead: RetainedFleet, tmp_path: Path, capsys: Capture, network: str, allowed: str
):
    other, text = tmp_path / "fleet.yaml", dead.file.read_text(encoding="utf-8")
    start, end = text.index("network:\n"), text.index("storage:")
    other.write_text(f"{text[:start]}network: {network}\n{text[end:]}", encoding="utf-8")
    capsys.readouterr()
    assert main(["retained", str(other), "--adopt", "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["code"] == "LF1270"
    assert allowed in problem["remedy"]


def test_the_next_lives_use_what_the_first_left_behind(fleet: RetainedFleet, capsys: Capture):
    first, before = fleet.left(), fleet.file.read_text(encoding="utf-8")
    assert main(["retained", str(fleet.file), "--adopt"]) == 0
    reported = capsys.readouterr()
    after = fleet.file.read_text(encoding="utf-8")
    assert f"+    vpc: {fleet.vpc}" in reported.out
    assert "-    size: 4800 GiB" in reported.out
    assert "gateways, routes and VPC endpoints" in reported.err
    kept = [line for line in before.splitlines() if line.strip().startswith("#")]
    assert [line for line in after.splitlines() if line in kept] == kept
    assert after[after.index("clusters:") :] == before[before.index("clusters:") :]
    # The network's own keys stay, and mean the same.
    adopted = load_fleet(fleet.file).network
    assert adopted is not None
    assert (adopted.az, adopted.vpc) == ("usw2-az4", None)

    for _ in range(2):  # The second and the third life.
        assert main(["retained", str(fleet.file), "--adopt"]) == 0
        assert "nothing to adopt" in capsys.readouterr().out
        assert fleet.file.read_text(encoding="utf-8") == after
        left = fleet.left()
        assert _obstacles(fleet, capsys) == []
        destroy = fleet.deploy()
        assert _obstacles(fleet, capsys) == []  # What the fleet's own stacks have is none.
        now = fleet.left()
        assert fleet.network() == fleet.first_network
        for kind in ("VPCs", "file systems", "keys"):
            assert now[kind] == first[kind], kind
        # New are only the endpoints' group, which is deleted with its stack, and the buckets of scripts and their logs.
        assert first["security groups"] < now["security groups"]
        assert {len(now[kind]) - len(left[kind]) for kind in ("security groups", "subnets")} == {1, 2}
        assert len(now["buckets"]) - len(left["buckets"]) == 2
        assert load_fleet(fleet.file).storage.buckets["data"].bucket_name == fleet.bucket
        body = fleet.aws.client("s3").get_object(Bucket=fleet.bucket, Key="models/one")["Body"].read()
        assert body == OBJECT
        unused = [one["key"] for one in listed(fleet, capsys)["retained"] if one["key"] and not one["used"]]
        assert unused == []
        destroy()
        for kind in ("VPCs", "subnets", "security groups", "file systems", "keys"):
            assert fleet.left()[kind] == first[kind], kind
    # What all lives left behind.
    keys = first["keys"]
    assert main(["retained", str(fleet.file), "--delete", "--yes", "launch-post"]) == 0
    assert fleet.left() == {}
    # The fleet file still names them.
    printed = capsys.readouterr().out
    (problem,) = listed(fleet, capsys, "--adopt", code=1)["problems"]
    assert problem["code"] == "LF1272"
    missing = problem["message"].partition("scheduled: ")[2].split(", ")
    assert "the fleet file still names what was deleted:\n  " + "\n  ".join(missing) + "\n" in printed
    paths = [one.partition(": ")[0] for one in missing]
    assert paths == [
        "network.existing.vpc", "network.existing.subnets.usw2-az4", "network.existing.security_group",
        "network.existing.key", "storage.key", "storage.fsx.existing.id", "storage.home.existing.id",
        "storage.buckets.data.name", "storage.buckets.data.key",
    ]  # fmt: skip
    assert {one.rpartition("/")[2] for one in missing if "key: " in one} == keys
    assert fleet.file.read_text(encoding="utf-8") == after


def test_a_deployed_fleet_is_not_changed_and_none_of_two_vpcs_is_adopted(fleet: RetainedFleet, capsys: Capture):
    before, first = fleet.file.read_text(encoding="utf-8"), fleet.vpc
    destroy = fleet.deploy()
    (problem,) = listed(fleet, capsys, "--adopt", code=1)["problems"]
    assert problem["code"] == "LF1231"
    assert fleet.file.read_text(encoding="utf-8") == before
    deployed = fleet.left()
    (problem,) = listed(fleet, capsys, "--delete", "--yes", "launch-post", code=1)["problems"]
    assert problem["code"] == "LF1231"
    assert fleet.left() == deployed
    destroy()
    # After two lives there are two VPCs.
    (problem,) = listed(fleet, capsys, "--adopt", code=1)["problems"]
    assert problem["code"] == "LF1236"
    assert first in problem["given"] or "fs-" in problem["given"]
    assert fleet.file.read_text(encoding="utf-8") == before


def test_what_is_gone_or_changed_is_not_adopted(fleet: RetainedFleet, capsys: Capture):
    aws = fleet.aws
    (lustre,) = (one for one in listed(fleet, capsys)["retained"] if one["key"] == "storage.fsx.existing")
    aws.client("fsx").delete_file_system(FileSystemId=lustre["id"])
    s3, bucket = aws.client("s3"), fleet.bucket
    for version in s3.list_object_versions(Bucket=bucket)["Versions"]:
        s3.delete_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])
    s3.delete_bucket(Bucket=bucket)
    assert {"storage.fsx.existing", "storage.buckets.data"}.isdisjoint(
        one["key"] for one in listed(fleet, capsys)["retained"]
    )
    assert main(["retained", str(fleet.file), "--adopt"]) == 0
    adopted = load_fleet(fleet.file)
    assert adopted.network is not None
    assert adopted.network.existing is not None
    assert adopted.storage.fsx is not None
    assert adopted.storage.fsx.existing is None
    assert adopted.storage.home is not None
    assert adopted.storage.home.existing is not None
    assert not adopted.storage.buckets["data"].existing
