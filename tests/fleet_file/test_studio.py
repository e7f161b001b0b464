"""Studio in the fleet file: short forms, errors at the user's keys, and the same user ids as on the clusters."""

from typing import Any

import pytest
import yaml

from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.check_sagemaker import ids_on_clusters, zones_of_studio
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.sagemaker.studio import studio_claims
from llm_fleet.rules.terms import EndpointFeature
from llm_fleet.spec.studio import StudioSpec

GROUPS = {
    "controller": {"role": "controller", "type": "ml.c5.xlarge", "count": 1},
    "workers": {"role": "compute", "type": "ml.g5.8xlarge", "count": 1, "partition": "gpu"},
}


def fleet_with(studio: dict[str, Any], **more: Any) -> str:
    fleet: dict[str, Any] = {
        "fleet": "lab",
        "region": "us-west-2",
        "network": {"azs": ["usw2-az1", "usw2-az4"]},
        "storage": {
            "fsx": {"size": "4800 GiB", "throughput": "250 MB/s/TiB", "az": "usw2-az4"},
            "buckets": {"data": {}},
        },
        "clusters": {
            "train": {
                "kind": "hyperpod",
                "az": "usw2-az4",
                "groups": GROUPS,
                "users": {"alice": {"uid": 10001, "gid": 10009}, "old": {"uid": 2001}},
            }
        },
        "studio": studio,
    }
    return yaml.safe_dump({name: value for name, value in (fleet | more).items() if value is not None})


def parsed(studio: dict[str, Any], **more: Any) -> Fleet:
    return parse_fleet(fleet_with(studio, **more))


def view(studio: dict[str, Any]) -> StudioSpec:
    fleet = parsed(studio)
    assert fleet.studio is not None
    return fleet.studio.in_fleet(fleet.name, ids_on_clusters(fleet, fleet.studio))


def zones(studio: dict[str, Any]) -> tuple[str, ...]:
    fleet = parsed(studio)
    assert fleet.studio is not None
    return zones_of_studio(fleet, fleet.studio)


def reported(studio: dict[str, Any], **more: Any) -> dict[str, str]:
    with pytest.raises(FleetError) as caught:
        parsed(studio, **more)
    return {problem.where: problem.code.value for problem in caught.value.problems}


def test_an_empty_studio_has_all_defaults():
    studio = view({})
    assert (studio.domain_name, studio.idle_minutes, studio.instance_type) == ("lab-studio", 60, "ml.t3.medium")
    assert zones({}) == ("usw2-az4",)
    assert zones({"fsx": False}) == ("usw2-az1", "usw2-az4")
    assert view({"idle": "never"}).idle_minutes is None


def test_users_have_the_same_ids_as_on_the_cluster():
    people: dict[str, Any] = {"alice": {}, "old": {}, "bob": {"uid": 10002}}
    ids = {name: (user.uid, user.gid) for name, user in view({"users": people, "clusters": ["train"]}).users.items()}
    assert ids == {"alice": (10001, 10009), "old": (None, None), "bob": (10002, None)}
    assert view({"users": people}).users["alice"].uid is None


@pytest.mark.parametrize(
    ("studio", "where", "code"),
    [
        ({"clusters": ["trainn"]}, "studio.clusters[0]", "LF119"),
        ({"clusters": ["train", "train"]}, "studio.clusters[1]", "LF117"),
        ({"buckets": ["date"]}, "studio.buckets[0]", "LF119"),
        ({"buckets": ["data", "data"]}, "studio.buckets[1]", "LF117"),
        ({"users": {"alice": {"uid": 10005}}, "clusters": ["train"]}, "studio.users.alice.uid", "LF923"),
        ({"users": {"alice": {"uid": 5}}}, "studio.users.alice.uid", "LF922"),
        ({"users": {"al_ice": {}}}, "studio.users.al_ice", "LF900"),
        ({"users": {"alice": {}}, "sign_in": "SSO"}, "studio.users.alice.identity", "LF925"),
        ({"sign_in": "SAML"}, "studio.sign_in", "LF114"),
        ({"instance": "ml.p3.2xlarge"}, "studio.instance", "LF901"),
        ({"instances": ["ml.g5.xlarge"]}, "studio.instance", "LF117"),
        ({"idle": "30 min"}, "studio.idle", "LF920"),
        ({"idle": 60}, "studio.idle", "LF115"),
        ({"volume": "200 GiB"}, "studio.volume", "LF921"),
        ({"fsx_directory": "teams"}, "studio.fsx_directory", "LF926"),
        ({"fsx": False, "fsx_directory": "/teams"}, "studio.fsx_directory", "LF117"),
        ({"internet": True}, "studio.internet", "LF926"),
        ({"repositories": ["http://git.example.com/a"]}, "studio.repositories[0]", "LF928"),
        ({"pins": ["sagemaker"]}, "studio.pins[0]", "LF917"),
        ({"prefixes": ["_lab"]}, "studio.prefixes[0]", "LF919"),
        ({"name": "my lab"}, "studio.name", "LF900"),
        ({"auth_mode": "SSO"}, "studio.auth_mode", "LF110"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_are_reported_at_their_keys(studio: dict[str, Any], where: str, code: str):
    assert reported(studio) == {where: code}


def test_studio_requires_a_network():
    assert reported({}, network="none", storage=None, clusters=None) == {"studio": "LF903"}


def test_users_require_addresses():
    people: dict[str, Any] = {f"user{number}": {} for number in range(20)}
    network = {"az": "usw2-az4", "cidr": "10.0.0.0/24", "compute_cidr": "10.1.0.0/26"}
    assert set(reported({"users": people}, network=network, clusters=None).values()) == {"LF220"}


def test_each_user_requires_four_addresses_and_the_home_file_system_one():
    claims = studio_claims(3, zones=["usw2-az4"], home_efs=True, owner="studio")
    assert [(claim.addresses, claim.availability_zone_id) for claim in claims] == [(12, "usw2-az4"), (1, "usw2-az4")]


def test_a_closed_network_gets_the_endpoint_for_studio_and_rejects_internet_access():
    closed = {"az": "usw2-az4", "internet": "none"}
    assert EndpointFeature.SAGEMAKER_WORK in endpoint_features(parsed({}, network=closed))
    assert EndpointFeature.SAGEMAKER_WORK not in endpoint_features(parsed({}))
    assert reported({"internet": True, "fsx": False}, network=closed) == {"studio.internet": "LF929"}
