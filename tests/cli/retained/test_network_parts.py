"""What of a retained network is written into the fleet file."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.retained.network_parts import existing_parts
from llm_fleet.cli.retained.survey import Description, Retained, Survey
from llm_fleet.cli.retained.traces import Trace
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError

_VPC, _KEY = "vpc-0123456789abcdef0", "1234abcd-12ab-34cd-56ef-1234567890ab"
_ARN = f"arn:aws:kms:us-west-2:111122223333:key/{_KEY}"
_SUBNET, _OTHER = "subnet-0123456789abcdef4", "subnet-0123456789abcdef1"
_BLOCKS = {
    "CidrBlock": "10.0.0.0/16",
    "CidrBlockAssociationSet": [{"CidrBlock": "10.0.0.0/16"}, {"CidrBlock": "10.1.0.0/16"}],
}


def _item(kind: str, id: str, logical_id: str, **facts: Any) -> Retained:
    trace = Trace(resource_type="", id=id, logical_id=logical_id, stack="train-network", since=None)
    return Retained(kind=kind, trace=trace, described=Description(facts={"VpcId": _VPC, **facts}), fleet="train")


def _subnet(id: str, zone: str, cidr: str) -> Retained:
    name = f"Network{zone.replace('-', '')}ComputeSubnet01234567"
    return _item("subnet", id, name, AvailabilityZoneId=zone, CidrBlock=cidr)


_COMPUTE = _subnet(_SUBNET, "usw2-az4", "10.1.0.0/17")


def _parts(network: str, *items: Retained, gateways: tuple[str, ...] = (), key: str = "") -> dict[str, Any] | None:
    def client(service: str) -> Any:
        assert service == "kms"
        metadata = {"KeyId": _KEY, "Arn": _ARN, "KeyState": key}
        return SimpleNamespace(describe_key=lambda KeyId: {"KeyMetadata": metadata})  # pyright: ignore

    def attached(Filters: list[dict[str, Any]]) -> dict[str, Any]:
        assert Filters == [{"Name": "attachment.vpc-id", "Values": [_VPC]}]
        return {"InternetGateways": [{"InternetGatewayId": id} for id in gateways]}

    clients = SimpleNamespace(client=client, ec2=SimpleNamespace(describe_internet_gateways=attached))
    fleet = parse_fleet(f"fleet: train\nregion: us-west-2\nnetwork: {network}\n")
    vpc = _item("VPC", _VPC, "Network01234567", **_BLOCKS)
    of_logs = _item("KMS key", _KEY, "Key") if key else None
    return existing_parts(cast(AwsClients, clients), vpc, of_logs, Survey(items=items, stacks=(), problems=()), fleet)


def test_the_subnet_of_an_az_that_was_appended_in_a_later_life_is_added():
    written = f"{{azs: [usw2-az4, usw2-az1], existing: {{vpc: {_VPC}, subnets: {{usw2-az4: {_SUBNET}}}}}}}"
    assert _parts(written, _COMPUTE) is None
    appended = _subnet(_OTHER, "usw2-az1", "10.1.128.0/18")
    expected = {"vpc": _VPC, "subnets": {"usw2-az4": _SUBNET, "usw2-az1": _OTHER}}
    assert _parts(written, _COMPUTE, appended) == expected
    # An AZ that the fleet file does not have any more stays out of it.
    assert _parts("{az: usw2-az4}", _COMPUTE, appended) == {"vpc": _VPC, "subnets": {"usw2-az4": _SUBNET}}


def test_database_subnets_an_attached_gateway_and_the_key_are_named():
    database = [_item("subnet", f"subnet-{n}", f"NetworkDatabaseSubnet{n}01234567") for n in (2, 1)]
    found = _parts("{az: usw2-az4}", *database, gateways=("igw-1",), key="Enabled")
    assert found == {
        "vpc": _VPC,
        "database_subnets": ["subnet-1", "subnet-2"],
        "key": _ARN,
        "internet_gateway": "igw-1",
    }
    closed = _parts("{az: usw2-az4, internet: none}", *database, gateways=("igw-1",))
    assert closed is not None
    assert "internet_gateway" not in closed


@pytest.mark.parametrize(
    ("state", "command"), [("Disabled", "run `aws kms enable-key"), ("PendingDeletion", "run `aws kms cancel-key-d")]
)
def test_a_key_that_cannot_be_used_is_reported(state: str, command: str):
    with pytest.raises(FleetError) as error:
        _parts("{az: usw2-az4}", key=state)
    (problem,) = error.value.problems
    assert (problem.code.value, problem.value) == ("LF1271", _KEY)
    assert problem.remedy.startswith(command)
