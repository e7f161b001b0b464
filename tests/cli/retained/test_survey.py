"""Kinds that the command lists and does not delete: whether they still exist."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.retained import survey as module
from llm_fleet.cli.retained.survey import Description, Retained, survey
from llm_fleet.cli.retained.traces import Trace
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError, Problem


class _NotFoundError(ClientError):
    """ResourceNotFoundException."""


def _listed(monkeypatch: pytest.MonkeyPatch, code: str, resource_type: str) -> list[str]:
    """Return the ids that are listed if Cloud Control answers each call with the error `code`, or none."""

    def get_resource(TypeName: str, Identifier: str) -> dict[str, Any]:
        assert (TypeName, Identifier) == (resource_type, "runs")
        if code:
            kind = _NotFoundError if code == "ResourceNotFoundException" else ClientError
            raise kind({"Error": {"Code": code, "Message": "no"}}, "GetResource")
        return {}

    control = SimpleNamespace(
        get_resource=get_resource, exceptions=SimpleNamespace(ResourceNotFoundException=_NotFoundError)
    )
    trace = Trace(resource_type=resource_type, id="runs", logical_id="Runs", stack="train-watch", since=None)

    def traces(*_: Any) -> Any:
        return SimpleNamespace(found=(trace,), problems=[], stacks=())

    monkeypatch.setattr(module, "Traces", traces)
    clients = SimpleNamespace(client={"cloudcontrol": control}.__getitem__)
    found = survey(cast(AwsClients, clients), cast(Fleet, SimpleNamespace(name="train", region="us-west-2")))
    assert found.problems == ()
    return [item.id for item in found.items]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", ["runs"]),
        ("ResourceNotFoundException", []),
        ("TypeNotFoundException", ["runs"]),
        ("AccessDeniedException", ["runs"]),
    ],
)
def test_a_table_that_the_user_deleted_is_not_listed(monkeypatch: pytest.MonkeyPatch, code: str, expected: list[str]):
    assert _listed(monkeypatch, code, "AWS::DynamoDB::Table") == expected


def test_a_type_with_another_id_for_cloud_control_is_listed(monkeypatch: pytest.MonkeyPatch):
    assert _listed(monkeypatch, "ResourceNotFoundException", "AWS::SageMaker::UserProfile") == ["runs"]


@pytest.mark.parametrize(("stack", "part"), [("train-storage", "storage"), ("train-x-storage", "x-storage")])
def test_a_part_is_the_stacks_name_without_the_fleets(stack: str, part: str):
    """The stack of a cluster `x-storage` is not that of the storage."""
    trace = Trace(resource_type="", id="data", logical_id="", stack=stack, since=None)
    assert Retained(kind="bucket", trace=trace, described=Description(), fleet="train").part == part


def test_an_unknown_id_is_reported_together_with_refused_calls(monkeypatch: pytest.MonkeyPatch):
    refused = Problem(code=CommandCode.REFUSED, message="no", remedy="")

    def traces(*_: Any) -> Any:
        return SimpleNamespace(found=(), problems=[refused], stacks=())

    monkeypatch.setattr(module, "Traces", traces)
    fleet = cast(Fleet, SimpleNamespace(name="train", region="us-west-2"))
    with pytest.raises(FleetError) as error:
        survey(cast(AwsClients, None), fleet, only=["vpc-1"])
    assert [one.code.value for one in error.value.problems] == ["LF1239", "LF1009"]
