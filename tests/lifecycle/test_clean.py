"""No checker finds anything in a bundle with its bucket."""

from typing import cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.cluster import NodeGroup
from tests.clean import all_findings


@pytest.mark.parametrize("keyed", [False, True], ids=["defaults", "own key"])
def test_no_checker_finds_anything(app: cdk.App, stack: cdk.Stack, keyed: bool) -> None:
    key = cast(kms.IKey, kms.Key(stack, "Key", enable_key_rotation=True)) if keyed else None
    bucket = LifecycleBucket(stack, "Bucket", name_part="demo", encryption_key=key).bucket
    group = NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])
    manifest = NodeManifest(fleet_name="demo", region=stack.region, groups=[group])
    LifecycleBundle(stack, "Bundle", bucket=bucket, manifest=manifest, log_encryption_key=key)
    assert all_findings(app) == []
