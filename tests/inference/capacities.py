"""The capacity of two services, one of each kind, in one stack that is synthesized once."""

from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from llm_fleet.iam.statements import Permission
from llm_fleet.inference.capacity import Ec2Capacity, ManagedCapacity
from llm_fleet.inference.model import ModelMount
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.service import Capacity, Hosts, TaskCount
from tools.synth_environment import cdk_context

MOUNT = ModelMount(
    bucket_name="my-models",
    prefix="tanuki-8b",
    host_path="/var/lib/llm-fleet/model",
    container_path="/model",
    cache_gib=20,
)
READ = Permission(
    sid="Model", actions=("s3:GetObject",), resources=("arn:aws:s3:::my-models/tanuki-8b/*",), reason="the model"
)


@dataclass
class Both:
    """A stack with both kinds of capacity."""

    app: cdk.App
    stack: cdk.Stack
    ec2: Ec2Capacity
    managed: ManagedCapacity
    resources: dict[str, Any]

    def of(self, kind: str, *, below: str = "") -> dict[str, Any]:
        """The only resource of `kind` whose logical id begins with `below`."""
        (found,) = [each for name, each in self.resources.items() if each["Type"] == kind and name.startswith(below)]
        return found


def network_of(stack: cdk.Stack, **more: Any) -> FleetNetwork:
    """A network in two AZs."""
    return FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az2"], **more))


def both() -> Both:
    """Create both kinds of capacity."""
    app = cdk.App(context=cdk_context())
    stack = cdk.Stack(app, "Capacity", env=cdk.Environment(region="us-west-2"))
    network = network_of(stack)
    log_group = logs.CfnLogGroup(stack, "Logs", retention_in_days=30)
    own = ecs.CfnCluster(stack, "OwnCluster")
    theirs = ecs.CfnCluster(stack, "ManagedCluster")
    capacity = Ec2Capacity(
        stack,
        "Own",
        hosts=Hosts(),
        instance_type="inf2.xlarge",
        network=network,
        cluster_name=own.ref,
        service_name="chat",
        tasks=TaskCount(desired=2, minimum=2, maximum=4),
        driver_version="2.28.0.0",
        log_group=log_group,
        image_gib=30,
        waits=True,
        mount=MOUNT,
        model_permissions=[READ],
    )
    managed = ManagedCapacity(
        stack,
        "Managed",
        hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES),
        instance_type="inf2.xlarge",
        network=network,
        cluster_name=theirs.ref,
        service_name="draft",
        image_gib=30,
    )
    return Both(app, stack, capacity, managed, {})


@pytest.fixture(scope="session")
def capacities() -> Both:
    """Both kinds, synthesized."""
    made = both()
    made.resources = made.app.synth().get_stack_by_name("Capacity").template["Resources"]
    return made
