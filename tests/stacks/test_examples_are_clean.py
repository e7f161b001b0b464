"""Every example synthesizes without a warning under each checker that a careful user would run."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet.config.load import load_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.clean import Finder, every_checker
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@every_checker
def test_nothing_is_found(app: cdk.App, example: Path, finder: Finder):
    FleetStacks.make(app, load_fleet(example), account="111122223333")
    assert finder(app) == []


@every_checker
def test_each_checker_finds_a_planted_mistake(app: cdk.App, stack: cdk.Stack, finder: Finder):
    bucket = s3.CfnBucket(stack, "Careless")
    bucket.add_property_override("VersioningConfiguration.Status", "Sometimes")
    cdk.Annotations.of(bucket).add_warning_v2("test:careless", "this bucket is careless")
    assert finder(app) != []
