"""`llm-fleet facts refresh` with an account in the AWS emulator, and the commands that read its file."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog import ec2_instances
from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.cli.main import main
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.named_files.account_file import AccountFacts, Kind, read_account_file
from llm_fleet_local.aws.client import LocalAws
from tools.synth_environment import ROOT

Capture = pytest.CaptureFixture[str]
Run = Callable[..., tuple[int, str, str]]
FIRST, LATER = date(2026, 11, 28), date(2026, 12, 24)
FLEET = """
fleet: post
region: us-west-2
network: {az: usw2-az4}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      trn1: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}
  fast:
    kind: parallelcluster
    head: {type: c5.4xlarge}
    queues:
      trn1: {type: trn1.32xlarge, max: 2, image: ami-0123456789abcdef0}
"""
NAME = "llm-fleet-facts.json"


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    """An account whose Price List has the prices of two instance types."""
    with LocalAws(region="us-west-2") as local:
        sagemaker = {"instanceType": "ml.trn1.32xlarge-Cluster", "regionCode": "us-west-2"}
        ec2 = {
            **{"instanceType": "trn1.32xlarge", "regionCode": "us-west-2", "operatingSystem": "Linux"},
            **{"tenancy": "Shared", "capacitystatus": "Used", "preInstalledSw": "NA"},
        }
        local.give_account(
            quotas={
                "ec2": {
                    "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances": 64,
                    "Running On-Demand Trn instances": 512,
                },
                "sagemaker": {
                    "ml.m5.xlarge for cluster usage": 2,
                    "ml.trn1.32xlarge for cluster usage": 4,
                    "Total number of instances allowed across SageMaker HyperPod clusters": 20,
                    "Maximum number instances allowed per SageMaker HyperPod cluster": 20,
                },
            }
        )
        local.report_prices(
            [
                {"service_code": "AmazonSageMaker", "attributes": sagemaker, "unit": "Hrs", "usd": "20.5"},
                {"service_code": "AmazonEC2", "attributes": ec2, "unit": "Hrs", "usd": "18.25"},
            ]
        )
        yield local


@pytest.fixture
def folder(aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the fleet file."""
    for name, value in {**aws.environment, "AWS_MAX_ATTEMPTS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: Capture) -> Run:
    def run(*words: str, today: date = FIRST) -> tuple[int, str, str]:
        code = main(words, today=today)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def changed(folder: Path, **facts: Any) -> None:
    """Replace facts of kinds in the file."""
    document = json.loads((folder / NAME).read_text())
    for kind, value in facts.items():
        document[kind]["facts"] = value
    (folder / NAME).write_text(json.dumps(document))


def test_refresh_writes_what_the_account_reports(run: Run, aws: LocalAws, folder: Path) -> None:
    code, out, err = run("facts", "refresh")
    assert code == 0
    assert out == (
        f"wrote {NAME}: 4 zones, 2 offerings, 2 instance types, 11 quotas, 0 images, 2 prices; account {aws.account}, "
        "us-west-2\n"
    )
    assert "no price: ml.m5.xlarge (sagemaker-cluster): AWS returns no price" in err
    facts = read_account_file(folder / NAME)
    assert (facts.account, facts.region) == (aws.account, "us-west-2")
    assert facts.zones == ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4")
    offered = aws.client("ec2").describe_instance_type_offerings(
        LocationType="availability-zone-id", Filters=[{"Name": "instance-type", "Values": ["trn1.32xlarge"]}]
    )["InstanceTypeOfferings"]
    assert set(facts.offerings["trn1.32xlarge"]) == {one["Location"] for one in offered}
    assert {one.item: str(one.usd) for one in facts.prices} == {"ml.trn1.32xlarge": "20.5", "trn1.32xlarge": "18.25"}
    assert facts.checked == dict.fromkeys(Kind, FIRST)
    trn1 = facts.quotas["sagemaker/ml.trn1.32xlarge for cluster usage"]
    assert trn1 is not None
    assert (trn1.value, trn1.adjustable) == (4, True)
    vpcs = facts.quotas["vpc/VPCs per Region"]
    assert vpcs is not None
    assert (vpcs.code, vpcs.value) == ("L-F678F1CE", 5)  # AWS's default: it was never changed.
    assert facts.instance_types["trn1.32xlarge"]["accelerators"] == 16


def test_the_file_has_the_same_content_after_it_was_read(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    assert read_account_file(folder / NAME).text() == (folder / NAME).read_text()


def test_plan_uses_the_accounts_prices_before_ours(run: Run, folder: Path) -> None:
    def priced() -> dict[str, Any]:
        code, out, _ = run("plan", "--no-synth", "--no-aws", "--json")
        assert code == 0
        return {line["item"]: line["price"] for line in json.loads(out)["cost"]["lines"]}

    before = priced()
    run("facts", "refresh")
    after = priced()
    assert before["ml.trn1.32xlarge"]["verified"] is False
    assert (after["ml.trn1.32xlarge"]["usd"], after["ml.trn1.32xlarge"]["verified"]) == (20.5, True)
    assert after["ml.m5.xlarge"] == before["ml.m5.xlarge"]
    # A newer price in the user's cache is used instead, an older one is not.
    for read, usd in (("2026-11-19", 20.5), ("2026-11-21", 7.0)):
        prices = json.loads((folder / NAME).read_text())["prices"]["facts"]
        entries = [{**one, "usd": "7", "read": read} for one in prices]
        (folder / "cache" / "llm-fleet").mkdir(parents=True, exist_ok=True)
        (folder / "cache" / "llm-fleet" / "prices.json").write_text(json.dumps({"format": 1, "prices": entries}))
        assert priced()["ml.trn1.32xlarge"]["usd"] == usd
    # The file of --prices is used before both.
    (folder / "mine.json").write_text(
        json.dumps({"format": 1, "prices": [{**one, "usd": "3", "read": "2020-01-01"} for one in prices]})
    )
    _, out, _ = run("plan", "--no-synth", "--no-aws", "--json", "--prices", "mine.json")
    assert {line["item"]: line["price"] for line in json.loads(out)["cost"]["lines"]}["trn1.32xlarge"]["usd"] == 3


def test_validate_reports_an_az_that_the_account_does_not_have(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    assert run("validate")[0] == 0
    changed(folder, zones=["usw2-az1"])
    code, _, err = run("validate")
    assert code == 1
    assert "network  [LF1023]  line 4" in err
    assert "this account has no AZ usw2-az4 in us-west-2" in err
    assert "this is the state of 2026-11-28: `llm-fleet facts refresh` reads it again" in err


def test_validate_reports_an_instance_type_that_the_az_does_not_offer(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    changed(folder, offerings={"trn1.32xlarge": ["usw2-az2"]})
    code, out, _ = run("validate", "--json")
    assert code == 1
    (problem,) = json.loads(out)["problems"]
    assert problem["allowed"] == "usw2-az2"
    assert problem["where"].startswith("clusters.fast.queues.trn1")
    document = json.loads((folder / NAME).read_text())
    del document["zones"]  # As if the call for AZs was denied.
    (folder / NAME).write_text(json.dumps(document))
    assert run("validate")[0] == 1
    changed(folder, offerings={"trn2.48xlarge": []})  # Nothing about the fleet's type is known.
    assert run("validate")[0] == 0


def test_validate_reports_a_quota_that_is_too_small(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    assert run("validate")[0] == 0
    name = "ml.trn1.32xlarge for cluster usage"
    changed(folder, quotas={f"sagemaker/{name}": {"code": "L-1", "value": 3, "adjustable": True}})
    code, _, err = run("validate")
    assert code == 1
    assert "LF1020" in err
    assert "clusters.train.groups.trn1" in err
    assert f"the quota `{name}` (L-1) of the account is 3" in err
    assert "request-service-quota-increase --service-code sagemaker --quota-code L-1 --desired-value 4" in err
    assert "; this is the state of 2026-11-28" in err
    changed(folder, quotas={f"sagemaker/{name}": None})
    assert "Service Quotas does not have in us-west-2" in run("validate")[2]


def test_validate_reports_an_ami_that_aws_does_not_publish(run: Run, folder: Path) -> None:
    text = (ROOT / "examples" / "inference-inf2.yaml").read_text()
    (folder / "fleet.yaml").write_text(text)
    run("facts", "refresh")
    (name,) = read_account_file(folder / NAME).images
    assert name.startswith("/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/")
    changed(folder, quotas={}, offerings={}, images={name: "ami-0123456789abcdef0"})
    assert run("validate")[0] == 0
    changed(folder, images={name: None})
    code, _, err = run("validate")
    assert code == 1
    assert "which AWS does not publish in us-west-2" in err


@pytest.fixture(autouse=True)
def no_new_types() -> Generator[None]:
    """Removes the account's properties of instance types from this process after each test."""
    yield
    ec2_instances._of_account.clear()  # pyright: ignore[reportPrivateUsage]
    ec2_instances.ec2_instance.cache_clear()


def test_the_accounts_properties_of_an_instance_type_are_used_before_ours(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    types = json.loads((folder / NAME).read_text())["instance_types"]["facts"]
    assert load_fleet(folder / "fleet.yaml") is not None
    known = ec2_instance("trn1.32xlarge")
    assert known is not None
    assert {key: getattr(known, key) for key in types["trn1.32xlarge"]} == types[
        "trn1.32xlarge"
    ]  # EC2 has not changed.
    changed(folder, instance_types={"trn1.32xlarge": {**types["trn1.32xlarge"], "vcpus": 96}})
    load_fleet(folder / "fleet.yaml")
    facts = ec2_instance("trn1.32xlarge")
    assert facts == replace(known, vcpus=96)


def test_a_type_that_is_newer_than_the_release_is_read_and_then_accepted(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(load("ec2_instances"), "c5.4xlarge")
    ec2_instance.cache_clear()
    code, _, err = run("validate")
    assert (code, "c5.4xlarge" in err) == (1, True)
    assert run("facts", "refresh")[0] == 0
    assert run("validate")[0] == 0
    # An error that no facts can fix is reported as before.
    (folder / "fleet.yaml").write_text(FLEET.replace("c5.4xlarge", "zz9.4xlarge"))
    code, _, err = run("facts", "refresh")
    assert code == 1
    assert "zz9.4xlarge" in err


def test_facts_of_another_region_are_not_used(run: Run, folder: Path) -> None:
    run("facts", "refresh")
    changed(folder, zones=["usw2-az1"])
    assert run("validate")[0] == 1
    document = json.loads((folder / NAME).read_text())
    (folder / NAME).write_text(json.dumps({**document, "region": "eu-north-1"}))
    assert run("validate")[0] == 0


@pytest.mark.parametrize(("code", "error"), [("AccessDeniedException", "LF1004"), ("ThrottlingException", "LF1005")])
@pytest.mark.parametrize(
    ("service", "kinds"),
    [
        ("pricing", [Kind.PRICES]),
        ("ec2", [Kind.ZONES, Kind.OFFERINGS, Kind.INSTANCE_TYPES]),
        ("servicequotas", [Kind.QUOTAS]),
    ],
)
def test_a_refused_call_is_reported_and_leaves_what_was_there(
    service: str, kinds: list[Kind], code: str, error: str, run: Run, aws: LocalAws, folder: Path
) -> None:
    run("facts", "refresh")
    before = read_account_file(folder / NAME)
    aws.refuse_calls(code, service=service)
    try:
        exit_code, out, err = run("facts", "refresh", today=LATER)
        assert exit_code == 3
        assert error in err
        assert f"not refreshed: {kinds[0]}" in err
        assert "those of 2026-11-28 are kept" in err
        after = read_account_file(folder / NAME)
        assert after.checked == {kind: FIRST if kind in kinds else LATER for kind in Kind}
        assert (after.zones, after.offerings, after.prices) == (before.zones, before.offerings, before.prices)
        # Without a file nothing is kept, and the kind is left out.
        (folder / NAME).unlink()
        exit_code, out, err = run("facts", "refresh", "--json", today=LATER)
        assert exit_code == 3
        assert {one["code"] for one in json.loads(out)["problems"]} == {error}
        assert "the file has none" in " ".join(json.loads(out)["remarks"])
        assert set(read_account_file(folder / NAME).checked) == set(Kind) - set(kinds)
    finally:
        aws.refuse_calls(code, times=0)
    assert run("validate")[0] == 0


def test_facts_of_another_account_are_not_kept(run: Run, aws: LocalAws, folder: Path) -> None:
    run("facts", "refresh")
    text = (folder / NAME).read_text()
    (folder / NAME).write_text(text.replace(aws.account, "999988887777"))
    aws.refuse_calls("AccessDeniedException", service="pricing")
    try:
        assert run("facts", "refresh")[0] == 3
    finally:
        aws.refuse_calls("AccessDeniedException", times=0)
    assert read_account_file(folder / NAME).prices == ()


def test_the_age_of_the_accounts_facts_is_reported(run: Run, folder: Path) -> None:
    run("facts", "refresh", today=date(2026, 1, 1))
    _, out, _ = run("facts", "--json", today=FIRST)
    rows = {row["name"]: row for row in json.loads(out)["facts"]}
    assert rows["account/zones"]["age_days"] == (FIRST - date(2026, 1, 1)).days
    _, out, _ = run("validate", "--json")
    assert json.loads(out)["old_facts"] == [f"account/{kind}" for kind in sorted(Kind)]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[",
        '{"format": 2, "account": "1", "region": "r"}',
        '{"format": 1, "account": 1, "region": "r"}',
        '{"format": 1, "account": "1", "region": "r", "zones": {"facts": []}}',
        '{"format": 1, "account": "1", "region": "r", "zones": {"checked": "today", "facts": []}}',
        '{"format": 1, "account": "1", "region": "r", "zones": {"checked": "2026-11-28", "facts": "usw2-az1"}}',
        '{"format": 1, "account": "1", "region": "r", "offerings": {"checked": "2026-11-28", "facts": ["a"]}}',
        '{"format": 1, "account": "1", "region": "r", "prices": {"checked": "2026-11-28", "facts": [{}]}}',
        '{"format": 1, "account": "1", "region": "r", '
        '"quotas": {"checked": "2026-11-28", "facts": {"a": {"value": 1}}}}',
        '{"format": 1, "account": "1", "region": "r", "images": {"checked": "2026-11-28", "facts": {"a": 1}}}',
        '{"format": 1, "account": "1", "region": "r", "instance_types": {"checked": "2026-11-28", "facts": {"a": {}}}}',
    ],
)
def test_an_invalid_file_is_reported_and_not_overwritten(text: str, run: Run, folder: Path) -> None:
    (folder / NAME).write_text(text)
    for words in (("validate",), ("plan", "--no-synth", "--no-aws"), ("facts",), ("facts", "refresh")):
        code, _, err = run(*words)
        assert code == 1, words
        assert "LF1241" in err
    assert (folder / NAME).read_text() == text


def test_out_names_another_file_and_only_is_not_for_refresh(run: Run, folder: Path) -> None:
    assert run("facts", "refresh", "--out", "other.json")[0] == 0
    assert read_account_file(folder / "other.json").zones
    assert not (folder / NAME).exists()
    code, _, err = run("facts", "--only", "lustre", "refresh")
    assert code == 2
    assert "--only is for the table" in err


def test_empty_facts_have_no_kinds() -> None:
    facts = AccountFacts(account="111122223333", region="us-west-2")
    assert list(facts.data_files()) == []
    assert json.loads(facts.text()) == {"format": 1, "account": "111122223333", "region": "us-west-2"}
