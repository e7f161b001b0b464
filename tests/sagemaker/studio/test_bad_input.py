"""What cannot work is told before anything is made, all of it at once, with its remedy."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import (
    ExistingLustre,
    FleetError,
    FleetNetwork,
    InternetAccess,
    LustreFileSystem,
    NetworkSpec,
    StudioDomain,
    StudioSignIn,
    StudioSpec,
    StudioUser,
)
from tests.sagemaker.studio.conftest import ZONES

ALICE = StudioUser(uid=10001)
BESIDE = ("network", "lustre", "clusters", "buckets", "encryption_key")


def problems(stack: cdk.Stack, **arguments: Any) -> dict[str, tuple[str, str]]:
    """Codes and remedies by where they are."""
    if "network" not in arguments:
        arguments["network"] = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    before = len(stack.node.children)
    beside = {name: arguments.pop(name) for name in BESIDE if name in arguments}
    with pytest.raises(FleetError) as caught:
        StudioDomain(stack, "Studio", StudioSpec(**arguments), **beside)
    assert len(stack.node.children) == before
    return {problem.where: (problem.code.value, problem.remedy) for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("arguments", "where", "code"),
    [
        ({"network": None}, "network", "LF903"),
        ({"domain_name": "my_lab"}, "domain_name", "LF900"),
        ({"instance_type": "ml.p3.2xlarge"}, "instance_type", "LF901"),
        ({"instance_type": "t3.medium"}, "instance_type", "LF902"),
        ({"allowed_instance_types": ["ml.g5.xlarge", "ml.inf2.xlarge"]}, "allowed_instance_types[1]", "LF902"),
        ({"allowed_instance_types": ["ml.g5.xlarge"]}, "instance_type", "LF117"),
        ({"idle_minutes": 30}, "idle_minutes", "LF920"),
        ({"volume_gib": 2}, "volume_gib", "LF921"),
        ({"volume_gib": 200}, "volume_gib", "LF921"),
        ({"users": {"alice_b": StudioUser()}}, "users.alice_b", "LF900"),
        ({"users": {"alice": StudioUser(uid=2001)}}, "users.alice.uid", "LF922"),
        ({"users": {"alice": StudioUser(gid=3000)}}, "users.alice.gid", "LF922"),
        ({"users": {"alice": ALICE, "Alice": StudioUser()}}, "users.Alice", "LF924"),
        ({"users": {"alice": ALICE, "bob": StudioUser(uid=10001)}}, "users.bob.uid", "LF924"),
        ({"users": {"alice": StudioUser(identity="a@b.c")}}, "users.alice.identity", "LF925"),
        ({"users": {"alice": ALICE}, "sign_in": StudioSignIn.SSO}, "users.alice.identity", "LF925"),
        ({"code_repositories": ["git@github.com:huggingface/notebooks.git"]}, "code_repositories[0]", "LF928"),
        ({"code_repositories": ["https://me:secret@git.example.com/a.git"]}, "code_repositories[0]", "LF928"),
        ({"code_repositories": [f"https://git.example.com/{n}" for n in range(11)]}, "code_repositories", "LF928"),
        ({"pins": ["sagemaker"]}, "pins[0]", "LF917"),
        ({"name_prefixes": [""]}, "name_prefixes[0]", "LF919"),
        ({"users": {"alice": 10001}}, "users.alice", "LF113"),
        ({"users": ALICE}, "users", "LF113"),
        ({"users": [ALICE]}, "users", "LF113"),
        ({"sign_in": "SAML"}, "sign_in", "LF114"),
        ({"internet": "yes"}, "internet", "LF113"),
        ({"network": "vpc-1"}, "network", "LF113"),
        ({"lustre": "fs-1"}, "lustre", "LF113"),
        ({"clusters": ["train"]}, "clusters[0]", "LF113"),
        ({"clusters": "train"}, "clusters", "LF113"),
        ({"idle_minutes": "1 h"}, "idle_minutes", "LF113"),
        ({"encryption_key": "arn:aws:kms:…"}, "encryption_key", "LF113"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_refused(stack: cdk.Stack, arguments: dict[str, Any], where: str, code: str):
    told = problems(stack, **arguments)
    assert told[where][0] == code
    assert len(told) == 1
    assert told[where][1]


def test_all_is_told_at_once(stack: cdk.Stack):
    users = {"a b": StudioUser(uid=1), "c": StudioUser(identity="c")}
    told = problems(stack, users=users, idle_minutes=1, volume_gib=1, instance_type="ml.x")
    assert set(told) == {
        "users.a b",
        "users.a b.uid",
        "users.c.identity",
        "idle_minutes",
        "volume_gib",
        "instance_type",
    }


@pytest.fixture
def lustre(stack: cdk.Stack) -> Callable[..., Any]:
    def make(zone: str | None) -> Any:
        return LustreFileSystem.from_attributes(
            stack,
            "Fsx",
            ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", availability_zone_id=zone),
        )

    return make


def test_a_file_system_must_stand_in_a_subnet_of_the_domain(stack: cdk.Stack, lustre: Callable[..., Any]):
    assert problems(stack, lustre=lustre("usw2-az2"))["lustre"][0] == "LF926"


def test_sagemakers_own_internet_leads_to_no_file_system(stack: cdk.Stack, lustre: Callable[..., Any]):
    told = problems(stack, lustre=lustre(None), internet=True, lustre_directory="data files")
    assert {where: code for where, (code, _) in told.items()} == {"internet": "LF926", "lustre_directory": "LF926"}


def test_studio_is_no_way_around_a_closed_network(stack: cdk.Stack):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES, internet=InternetAccess.NONE))
    assert problems(stack, network=network, internet=True)["internet"][0] == "LF929"


def test_addresses_must_suffice_for_the_people(stack: cdk.Stack):
    network = FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=ZONES, cidr="10.0.0.0/24", compute_cidr="10.1.0.0/26")
    )
    told = problems(stack, network=network, users={f"user{n}": StudioUser() for n in range(10)})
    assert {code for code, _ in told.values()} == {"LF220"}


def test_a_file_system_of_nobody_knows_where_is_mounted_from_all_subnets(stack: cdk.Stack, lustre: Callable[..., Any]):
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    studio = StudioDomain(stack, "Studio", network=network, lustre=lustre(None))
    assert len(cdk.Stack.of(studio).resolve(studio.resource.subnet_ids)) == 2
