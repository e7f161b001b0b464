"""`check` as a whole: results, failed calls, and terminal output."""

import json
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.check.question import Account
from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import ENOUGH, TRN1, Check, refusing
from tests.pains.reported import reported
from tests.rules.account.commands import commands_in, why_not
from tests.terminal import run, run_in_terminal
from tools.synth_environment import ROOT


def test_an_account_with_everything_has_no_problem(check: Check):
    checked = check(TRN1)
    assert checked.code == 0, checked.out
    assert "quota ml.trn1.32xlarge for cluster usage" in checked.out
    assert "post in us-west-2, account 123456789012: 14 checks: 14 good" in checked.out
    assert checked.err == ""
    assert "\x1b" not in checked.out
    rows = [line for line in checked.out.splitlines() if line.startswith("ml.trn1.32xlarge in usw2-az4")]
    assert len(rows) == 1  # Without a terminal, each row is one line for grep.


def test_a_quota_that_is_too_small_is_reported_with_the_command_for_an_increase(check: Check, aws: LocalAws):
    text = TRN1.replace("count: 4", "count: 6")
    checked = check(text, "--json", "--only", "quotas")
    assert checked.code == 1
    problem = checked.only("quota ml.trn1.32xlarge for cluster usage")
    assert problem["where"] == "clusters.train.groups.trn1"
    assert "train/trn1 requires 6 instances; the quota `ml.trn1.32xlarge for cluster usage` (" in problem["message"]
    assert problem["message"].endswith(") of the account is 4 instances")
    table = check(text, "--only", "quotas")
    assert "6 instances required, quota 4 instances, 0 instances in use" in table.out
    assert "  given:   4\n" in table.out
    words = problem["remedy"].split("`")[1].split()
    given = dict(zip(words[3::2], words[4::2], strict=True))
    aws.client("service-quotas").request_service_quota_increase(
        ServiceCode=given["--service-code"],
        QuotaCode=given["--quota-code"],
        DesiredValue=float(given["--desired-value"]),
    )
    again = check(text, "--json", "--only", "quotas").only("quota ml.trn1.32xlarge for cluster usage")
    assert again["remedy"] == "an increase to 6 instances is already requested: wait until AWS grants it"


def test_usage_by_others_counts(check: Check, aws: LocalAws):
    address = aws.client("ec2").allocate_address(Domain="vpc")["AllocationId"]
    try:
        aws.give_account(quotas={"ec2": {"EC2-VPC Elastic IPs": 1}})
        checked = check(TRN1, "--json", "--only", "quotas")
        assert "network requires 1, and 1 is already in use; " in checked.only("quota EC2-VPC Elastic IPs")["message"]
    finally:
        aws.client("ec2").release_address(AllocationId=address)
        aws.give_account(quotas=ENOUGH | {"ec2": {"EC2-VPC Elastic IPs": 5}})


def test_no_capacity_in_the_az_is_reported_before_a_rollback(check: Check):
    checked = check(TRN1.replace("usw2-az4", "usw2-az2"), "--json", "--only", "offerings")
    assert checked.code == 1
    problem = checked.only("ml.trn1.32xlarge in usw2-az2")
    reported(13, problem["message"], "uses ml.trn1.32xlarge in usw2-az2, where EC2 does not offer it")
    assert "train/trn1 uses ml.trn1.32xlarge in usw2-az2, where EC2 does not offer it" in problem["message"]
    assert "this is only an indication" in problem["message"]
    assert "write one of these AZs: usw2-az1, usw2-az4" in problem["remedy"]


@pytest.mark.parametrize("unreported", ["AvailabilityZones", "AvailabilityZoneIds"])
def test_a_service_without_endpoints_in_the_az_is_found_before_the_network_is_rolled_back(
    check: Check, aws: LocalAws, monkeypatch: pytest.MonkeyPatch, unreported: str
):
    """AZs are compared by their ids, or by their names if the response of EC2 has no ids."""
    ask = Account.ask

    def requested(self: Account, service: str, operation: str, **named: Any) -> dict[str, Any]:
        answer = ask(self, service, operation, **named)
        if operation != "describe_vpc_endpoint_services":
            return answer
        return {
            "ServiceDetails": [{k: v for k, v in one.items() if k != unreported} for one in answer["ServiceDetails"]]
        }

    monkeypatch.setattr(Account, "ask", requested)
    aws.give_account(without_endpoints={"usw2-az4": ["ec2messages", "logs"]})
    try:
        problem = check(TRN1, "--json", "--only", "offerings").only("interface endpoints in usw2-az4")
        assert problem["code"] == "LF1058"
        assert "does not offer the endpoint services ec2messages, logs in usw2-az4" in problem["message"]
        key = problem["remedy"].split("`")[1]
        assert key == "without_endpoints: {usw2-az4: [ec2messages, logs]}"
        repaired = TRN1.replace("{az: usw2-az4}", f"{{az: usw2-az4, {key}}}")
        rows = check(repaired, "--json", "--only", "offerings").rows
        assert rows["interface endpoints in usw2-az4"]["detail"] == "all of the 2 services are available there"
    finally:
        aws.give_account()


def test_another_region_is_checked_with_the_option(check: Check):
    checked = check(TRN1, "--json", "--region", "eu-west-1", "--only", "offerings")
    assert checked.code == 1
    assert json.loads(checked.out)["region"] == "eu-west-1"
    problem = checked.only("AZs usw2-az4")
    assert problem["message"] == "this account has no AZ usw2-az4 in eu-west-1"


def test_an_error_in_the_file_is_reported_before_any_call(check: Check):
    checked = check(TRN1.replace("ml.trn1.32xlarge", "ml.inf2.xlarge"))
    assert checked.code == 1
    assert checked.out == ""
    assert "inf2" in checked.err


def test_an_unknown_region_is_reported_before_any_call(check: Check):
    checked = check(TRN1, "--region", "us-west-2a")
    assert checked.code == 1
    assert "unknown AWS Region" in checked.err
    assert "write `us-west-2`: 'us-west-2a' is an AZ of it" in checked.err


@pytest.mark.parametrize("example", ["hyperpod-full", "parallelcluster-full", "inference-full", "sagemaker-full"])
def test_every_example_is_checked_and_each_remedy_names_a_command_of_the_cli(check: Check, example: str):
    checked = check(ROOT / "examples" / f"{example}.yaml", "--json", "--region", "us-east-2")
    assert checked.code == 1
    problems: list[dict[str, Any]] = [one for row in checked.rows.values() for one in row["problems"]]
    assert len(problems) > 5
    assert [why for one in problems for command in commands_in(one["remedy"]) if (why := why_not(command))] == []
    assert {row["verdict"] for row in checked.rows.values()} <= {"good", "problem"}


def test_storage_and_vcpus_have_their_units(check: Check, aws: LocalAws):
    files = TRN1.replace("clusters:", "storage: {fsx: {size: 4800 GiB, throughput: 250 MB/s/TiB}}\nclusters:")
    aws.give_account(quotas=ENOUGH | {"fsx": {"Lustre Persistent_2 storage capacity": 0}})
    try:
        rows = check(files, "--json", "--only", "quotas").rows
    finally:
        aws.give_account(quotas=ENOUGH)
    assert rows["quota Lustre Persistent_2 storage capacity"]["detail"] == (
        "4,800 GiB required, quota 0 GiB, 0 GiB in use"
    )
    assert rows["quota ml.trn1.32xlarge for cluster usage"]["detail"].startswith(
        "4 instances required, quota 4 instances, "
    )
    chat = (ROOT / "examples" / "inference-inf2.yaml").read_text(encoding="utf-8")
    details = [row["detail"] for row in check(chat, "--json", "--only", "quotas").rows.values()]
    assert any(" vCPUs required, quota " in detail for detail in details)


def test_usage_from_a_metric_counts(check: Check, aws: LocalAws):
    """SageMaker has a usage metric for quotas of jobs, notebooks and endpoints."""
    name = "ml.g5.xlarge for notebook instance usage"
    fleet = "fleet: lab\nregion: us-west-2\nnetwork: {az: usw2-az1}\nnotebooks: {lab: {instance: ml.g5.xlarge}}\n"
    aws.give_account(quotas={"sagemaker": {name: 2}})
    before = check(fleet, "--json", "--only", "quotas").rows[f"quota {name}"]
    assert (before["verdict"], before["detail"]) == (
        "good",
        "1 instance required, quota 2 instances, AWS does not return the current usage",
    )
    aws.client("cloudwatch").put_metric_data(
        Namespace="AWS/Usage",
        MetricData=[
            {
                "MetricName": "ResourceCount",
                "Value": 2,
                "Dimensions": [
                    {"Name": "Service", "Value": "SageMaker"},
                    {"Name": "Type", "Value": "Resource"},
                    {"Name": "Resource", "Value": "notebook-instance/ml.g5.xlarge"},
                    {"Name": "Class", "Value": "None"},
                ],
            }
        ],
    )
    problem = check(fleet, "--json", "--only", "quotas").only(f"quota {name}")
    assert "requires 1 instance, and 2 instances are already in use" in problem["message"]


def test_a_denied_call_is_reported_and_the_other_checks_continue(check: Check, aws: LocalAws):
    with refusing(aws, "UnauthorizedOperation", service="ec2", operation="DescribeInstanceTypeOfferings"):
        checked = check(TRN1)
        as_data = check(TRN1, "--json")
    assert checked.code == 3
    assert checked.out.count("ec2:DescribeInstanceTypeOfferings: these credentials do not allow the call") == 2
    assert checked.out.count("remedy:  allow ec2:DescribeInstanceTypeOfferings in your IAM policy") == 1
    assert "14 checks: 12 good, 2 not checked" in checked.out
    row = as_data.rows["ml.trn1.32xlarge in usw2-az4"]
    assert (row["verdict"], row["action"]) == ("not checked", "ec2:DescribeInstanceTypeOfferings")
    assert row["problems"][0]["code"] == "LF1004"


def test_a_problem_determines_the_exit_code_before_a_refused_call(check: Check, aws: LocalAws):
    with refusing(aws, "AccessDeniedException", service="servicequotas"):
        checked = check(TRN1.replace("usw2-az4", "usw2-az2"), "--json")
    assert checked.code == 1
    assert checked.rows["quota VPCs per Region"]["action"] == "servicequotas:ListServiceQuotas"


def test_usage_by_others_is_not_needed_if_the_quota_is_too_small_without_it(check: Check, aws: LocalAws):
    with refusing(aws, "AccessDeniedException", service="sagemaker", operation="ListClusters"):
        rows = check(TRN1.replace("count: 4", "count: 9"), "--json", "--only", "quotas").rows
    assert rows["quota ml.trn1.32xlarge for cluster usage"]["verdict"] == "problem"
    assert rows["quota ml.m5.xlarge for cluster usage"]["verdict"] == "not checked"
    assert rows["quota ml.m5.xlarge for cluster usage"]["action"] == "sagemaker:ListClusters"


def test_expired_credentials_are_reported_once(check: Check, aws: LocalAws):
    with refusing(aws, "ExpiredToken"):
        checked = check(TRN1)
    assert checked.code == 3
    assert checked.out == ""
    assert checked.err.count("the AWS credentials have expired") == 1
    assert "aws sso login" in checked.err


def test_credentials_that_expire_during_the_checks_are_reported_once(check: Check, aws: LocalAws):
    with refusing(aws, "ExpiredTokenException", service="servicequotas"):
        checked = check(TRN1)
    assert checked.code == 3
    assert checked.err.count("the AWS credentials have expired") == 1


def test_a_throttled_service_is_reported_once_for_all_its_rows(check: Check, aws: LocalAws):
    with refusing(aws, "TooManyRequestsException", service="servicequotas", operation="ListServiceQuotas"):
        checked = check(TRN1)
    assert checked.code == 3
    assert checked.out.count("servicequotas:ListServiceQuotas: AWS throttled the call") == 9
    assert checked.out.count("[LF1005]") == 1


def test_each_call_is_made_once(check: Check, aws: LocalAws):
    """Nine quotas of three services take three denied calls."""
    aws.refuse_calls("AccessDeniedException", service="servicequotas", operation="ListServiceQuotas", times=3)
    checked = check(TRN1, "--json", "--only", "quotas")
    assert [row["verdict"] for row in checked.rows.values()] == ["not checked"] * 9


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(TRN1, encoding="utf-8")
    return str(file)


@pytest.fixture
def silence() -> Generator[str]:
    """An endpoint that accepts calls and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    kept.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://localhost:{server.getsockname()[1]}"
        for connection in kept:
            connection.close()


def test_a_terminal_of_forty_columns_shows_blocks_that_fit(aws: LocalAws, fleet: str):
    ran = run_in_terminal("check", fleet, "--only", "offerings", environment=aws.environment, columns=40)
    assert ran.code == 0
    assert max(map(len, ran.lines)) <= 40
    assert "ml.trn1.32xlarge in usw2-az4" in ran.lines
    assert "  result: good" in ran.lines


def test_missing_credentials_are_reported_once_in_a_pipe(aws: LocalAws, fleet: str):
    environment = {key: value for key, value in aws.environment.items() if "KEY" not in key and "TOKEN" not in key}
    ran = run("check", fleet, "--json", environment=environment)
    assert ran.code == 3
    assert ran.err.count("no AWS credentials") == 1
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_ctrl_c_ends_the_checks_immediately_and_silently(aws: LocalAws, fleet: str, silence: str):
    ran = run_in_terminal(
        "check",
        fleet,
        environment={**aws.environment, "AWS_ENDPOINT_URL_EC2": silence, "AWS_ENDPOINT_URL_SERVICE_QUOTAS": silence},
        interrupt_at=r"1/15",
    )
    assert ran.code == 130
    assert "Traceback" not in ran.raw
