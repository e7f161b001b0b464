"""Experiments of the register of assumptions in a local emulation: it answers as the claims say, and each deviation of
an answer disproves the claim by name.
"""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.experiments import Call, experiments
from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.prove import aws_answers, experiment
from llm_fleet.cli.prove.aws_answers import Answer, Refused
from llm_fleet.cli.prove.experiment import Experimenter, Outcome
from llm_fleet.cli.prove.undo_journal import UndoJournal
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.what_is_there import what_is_there

_NOT_EMULATED = {
    "fsx-ids-have-17-digits": "length(FileSystems) is empty",
    "logs-any-of-several-terms": "NotImplemented",
    "p6e-gb200-has-local-disks": "InvalidInstanceType",
    "parallelcluster-root-volume-of-notes": "is empty",
    "price-list-usage-endings": "500",
    "step-functions-knows-mlflow-config": "NotImplemented",
}
"""Claims about data or operations that the AWS emulator does not have, and the reason why they are not tested."""


_SLOW = {"cloudformation-deletes-what-it-can", "ec2-network-refusals", "services-ask-who-trusts-a-role"}


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as started:
        started.bootstrap()
        yield started


@pytest.fixture
def experimenter(aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Experimenter]:
    for name, value in {**aws.environment, "AWS_MAX_ATTEMPTS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(aws_answers, "MOST_DELAY", 0.1)
    made = Experimenter(
        region="us-west-2",
        run=f"llm-fleet-{abs(hash(tmp_path)) % 10**8:08}",
        values={"account": "123456789012", "partition": "aws", "dns_suffix": "amazonaws.com"},
        journal=UndoJournal(tmp_path),
    )
    before = _everything(aws, made.run)
    yield made
    assert made.clean() == ()
    assert _everything(aws, made.run) == before


def _everything(aws: LocalAws, run: str) -> Mapping[str, Any]:
    """Return all resources that experiments create, in both Regions; stacks that are deleted are not listed."""
    sns, ecs, sagemaker = aws.client("sns"), aws.client("ecs"), aws.client("sagemaker", "us-east-1")
    definitions = [
        arn
        for status in ("ACTIVE", "INACTIVE")
        for arn in ecs.list_task_definitions(status=status)["taskDefinitionArns"]
    ]
    names = {
        call.arguments["name"].replace("<run>", run)
        for calls in experiments().values()
        for call in calls
        if call.call == "ecs:CreateCapacityProvider"
    }
    providers = ecs.describe_capacity_providers(capacityProviders=sorted(names))["capacityProviders"]
    return {
        **what_is_there(aws),
        "topics": [one["TopicArn"] for one in sns.list_topics()["Topics"]],
        "definitions": definitions,
        "providers": [one["name"] for one in providers if one["status"] == "ACTIVE"],
        "all buckets": [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"]],
        "stacks": [stack["name"] for stack in aws.stacks()],
        "models": [one["ModelName"] for one in sagemaker.list_models()["Models"]],
        "configurations": [one["EndpointConfigName"] for one in sagemaker.list_endpoint_configs()["EndpointConfigs"]],
        "templates": [one["LaunchTemplateName"] for one in _templates(aws)],
        "roles": [one["RoleName"] for one in aws.client("iam").list_roles()["Roles"]],
    }


def _templates(aws: LocalAws) -> list[Any]:
    return aws.client("ec2").describe_launch_templates()["LaunchTemplates"]


@pytest.mark.parametrize("name", experiments())
def test_the_emulator_answers_as_the_claim_says(experimenter: Experimenter, name: str):
    verdict = experimenter.prove(name, experiments()[name])
    if name in _NOT_EMULATED:
        assert (verdict.outcome, _NOT_EMULATED[name] in verdict.reason) == (Outcome.NOT_TESTED, True), verdict.reason
    else:
        assert verdict.outcome is Outcome.PROVEN, verdict.reason


def _deviations() -> list[tuple[str, int]]:
    """Return claim and number of each call whose answer decides, of claims that the emulator knows and that do not
    take seconds.
    """
    return [
        (name, number)
        for name, calls in experiments().items()
        if name not in _NOT_EMULATED and name not in _SLOW
        for number, call in enumerate(calls)
        if not call.setup
    ]


@pytest.mark.parametrize(("name", "number"), _deviations())
def test_another_answer_disproves_the_claim(
    experimenter: Experimenter, monkeypatch: pytest.MonkeyPatch, name: str, number: int
):
    planted = experiments()[name][number]
    real: Any = vars(experiment)["_send"]

    def send(clients: AwsClients, call: Call, values: Mapping[str, Any]) -> Answer:
        answer = real(clients, call, values)
        return _other(planted, answer) if call is planted else answer

    monkeypatch.setattr(experiment, "_send", send)
    verdict = experimenter.prove(name, experiments()[name])
    assert verdict.outcome is Outcome.DISPROVEN, verdict.reason
    assert planted.call in verdict.reason


def _other(call: Call, answer: Answer) -> Answer:
    """Return the opposite answer: accepted if AWS should reject the call, and rejected if it should accept it."""
    refused = None
    if call.error is None:
        message = "this service has changed"
        refused = Refused(kind=CommandCode.REFUSED, code="ValidationError", message=message, is_an_answer=True)
    return Answer(
        call=answer.call, region=answer.region, response={}, refused=refused, request_id="1", time="", seconds=0.0
    )


def test_there_are_more_than_twenty_deviations():
    assert len(_deviations()) > 20


def test_a_call_outside_the_partition_is_not_made(experimenter: Experimenter, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(experimenter, "values", {**experimenter.values, "partition": "aws-cn"})
    verdict = experimenter.prove("price-list-usage-endings", experiments()["price-list-usage-endings"])
    assert (verdict.outcome, verdict.ends_the_run) == (Outcome.NOT_TESTED, False)
    assert "us-east-1 is not in the partition" in verdict.reason
