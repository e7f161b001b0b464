"""References between stacks: strong, and exported whether they are imported or not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import aws_cdk as cdk
import pytest

from llm_fleet import LustreSpec
from llm_fleet.accounting.slurm_database import SlurmDatabase
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import DataBucket, FleetKey
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from llm_fleet_stacks.cluster_stacks import HyperPodStack
from llm_fleet_stacks.fleet_stacks import FleetStacks
from llm_fleet_stacks.monitoring_stacks import MetricsStack, MonitoringStack
from llm_fleet_stacks.sagemaker_stacks import WatchStack
from tests.conftest import ENVIRONMENT
from tests.stacks.test_database_stack import FLEET as WITH_DATABASE
from tools.synth_environment import cdk_context

FLAG = "@aws-cdk/core:defaultCrossStackReferences"
WITH_PROMETHEUS = """
fleet: monitored  # codespell:ignore sight
region: us-west-2
network: {az: usw2-az4}
monitoring: {metrics: {to: prometheus}}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      workers: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
"""
UNPROTECTED = (HyperPodStack, MetricsStack, MonitoringStack, WatchStack)
"""Stacks with exports but without termination protection. Alarms, topics and clusters can be created again; the
workspace of metrics and the record of the watch are retained."""


def weak_app(folder: Path) -> cdk.App:
    """An app with the flag for weak references, as in a new app of `cdk init`."""
    return cdk.App(context={**cdk_context(), FLAG: "weak"}, outdir=str(folder))


def exports(app: cdk.App) -> dict[str, set[str]]:
    """Return the exports of each stack before synth: they do not depend on an import in another stack."""
    return {stack.stack_name: _exported(stack) for stack in _stacks(app)}


def assert_strong(app: cdk.App, before: Mapping[str, set[str]]) -> None:
    """Fail if references are weak, an imported value was not exported `before` synth, or its stack is not protected."""
    unsafe = [one for one in _stacks(app) if before[one.stack_name] and not one.termination_protection]
    assert [one.stack_name for one in unsafe if not isinstance(one, UNPROTECTED)] == []
    assembly = app.synth()
    for stack in _stacks(app):
        template = assembly.get_stack_by_name(stack.stack_name).template
        assert "Fn::GetStackOutput" not in json.dumps(template)
        assert _exported(stack) == before[stack.stack_name], "another stack takes more: add it to offer_values"


@pytest.mark.parametrize("text", [WITH_DATABASE, WITH_PROMETHEUS], ids=["database", "prometheus"])
def test_references_between_stacks_are_strong_and_exports_do_not_depend_on_imports(text: str, tmp_path: Path) -> None:
    """Fleets that are not in the examples; tests/stacks/test_examples.py tests the examples."""
    app = weak_app(tmp_path)
    FleetStacks.make(app, parse_fleet(text), account="111122223333")
    assert_strong(app, exports(app))


def test_references_of_constructs_in_a_users_stacks_are_strong_with_either_value_of_the_flag(tmp_path: Path) -> None:
    app = weak_app(tmp_path)
    lasting, user = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Lasting", "User"))
    network = FleetNetwork(
        lasting, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], load_balancer_zone_ids=["usw2-az2"])
    )
    key = FleetKey(lasting, "Key")
    lustre = LustreFileSystem(lasting, "Lustre", LustreSpec(storage_capacity_gib=1200), network=network)
    home = OpenZfsFileSystem(lasting, "Home", network=network)
    database = SlurmDatabase(lasting, "Database", network=network)
    data = DataBucket(lasting, "Data", BucketSpec(encryption_key=key))
    scripts = LifecycleBucket(lasting, "Scripts", name_part="mine", encryption_key=key)
    taken = [
        network.vpc.vpc_id,
        network.security_group.security_group_id,
        *network.subnet_ids,
        key.key_arn,
        lustre.dns_name,
        lustre.mount_name,
        lustre.security_group.security_group_id,
        home.dns_name,
        home.security_group.security_group_id,
        home.add_volume("apps").volume_id,
        database.endpoint,
        database.security_group.security_group_id,
        database.credentials_secret.secret_arn,
        database.password_secret.secret_arn,
        data.bucket_name,
        scripts.bucket.bucket_arn,
    ]
    for number, value in enumerate(taken):
        cdk.CfnOutput(user, f"Taken{number}", value=value)
    outputs = app.synth().get_stack_by_name("User").template["Outputs"]
    assert len(outputs) == len(taken)
    assert [name for name, output in outputs.items() if "Fn::ImportValue" not in output["Value"]] == []


def _stacks(app: cdk.App) -> list[cdk.Stack]:
    return [cast(cdk.Stack, child) for child in app.node.children if cdk.Stack.is_stack(child)]


def _exported(stack: cdk.Stack) -> set[str]:
    made = stack.node.try_find_child("Exports")
    return {child.node.id for child in made.node.children} if made is not None else set()
