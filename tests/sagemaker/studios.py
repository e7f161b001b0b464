"""Domains of Studio synthesized once for all tests that read their templates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import (
    FleetNetwork,
    HyperPodCluster,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    ParallelCluster,
    StudioDomain,
    StudioSpec,
    StudioUser,
)
from tests.conftest import ENVIRONMENT
from tools.synth_environment import cdk_context

ZONES = ["usw2-az1", "usw2-az4"]
CLUSTER = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"
TYPES = ["ml.t3.medium", "ml.g5.xlarge"]

Body = dict[str, Any]


@dataclass(frozen=True)
class Synthesized:
    """A domain with its template."""

    construct: StudioDomain

    @cached_property
    def template(self) -> Body:
        return dict(Template.from_stack(cdk.Stack.of(self.construct)).to_json())

    def of_type(self, type: str) -> dict[str, Body]:
        """Return the properties of the domain's resources of `type` by their logical ids."""
        return {
            name: body["Properties"]
            for name, body in self.template["Resources"].items()
            if body["Type"] == type and name.startswith("Studio")
        }

    def only(self, type: str) -> Body:
        (body,) = self.of_type(type).values()
        return body

    @property
    def domain(self) -> Body:
        return self.only("AWS::SageMaker::Domain")

    @property
    def settings(self) -> Body:
        return self.domain["DefaultUserSettings"]

    @property
    def profiles(self) -> dict[str, Body]:
        return {one["UserProfileName"]: one for one in self.of_type("AWS::SageMaker::UserProfile").values()}

    def statements(self) -> dict[str, Body]:
        """Statements of the role's managed policies by their ids."""
        policies = self.of_type("AWS::IAM::ManagedPolicy").values()
        return {each["Sid"]: each for policy in policies for each in policy["PolicyDocument"]["Statement"]}


def everything(stack: cdk.Stack) -> StudioDomain:
    """Return a domain with a file system, clusters, users, and most other features."""
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
    return StudioDomain(
        stack,
        "Studio",
        StudioSpec(
            users={"alice": StudioUser(uid=10001), "bob": StudioUser(uid=10002, gid=3000)},
            allowed_instance_types=TYPES,
            code_repositories=["https://github.com/huggingface/notebooks.git"],
            home_efs=True,
        ),
        network=network,
        lustre=LustreFileSystem(stack, "Fsx", LustreSpec(availability_zone_id=ZONES[1]), network=network),
        clusters=[
            HyperPodCluster.from_cluster_arn(stack, "Train", CLUSTER),
            ParallelCluster.from_cluster_name(stack, "Parallel", "parallel"),
        ],
    )


def _made(paths: pytest.TempPathFactory, make: Callable[[cdk.Stack], StudioDomain]) -> Synthesized:
    app = cdk.App(context=cdk_context(), outdir=str(paths.mktemp("studio") / "cdk.out"))
    return Synthesized(make(cdk.Stack(app, "Lab", env=ENVIRONMENT)))


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """A domain with only a network and one user."""

    def make(stack: cdk.Stack) -> StudioDomain:
        network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=ZONES))
        return StudioDomain(stack, "Studio", StudioSpec(users={"alice": StudioUser()}), network=network)

    return _made(tmp_path_factory, make)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """The domain of `everything`."""
    return _made(tmp_path_factory, everything)
