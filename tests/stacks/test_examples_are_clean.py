"""Every example synthesizes without a warning under each checker that a careful user would run."""

from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet.config.load import load_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.clean import Finder, all_findings, every_checker
from tools.synth_environment import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_is_found(app: cdk.App, example: Path):
    FleetStacks.make(app, load_fleet(example), account="111122223333")
    assert all_findings(app) == []


@every_checker
def test_each_checker_finds_a_planted_mistake(app: cdk.App, stack: cdk.Stack, finder: Finder):
    _plant(stack)
    assert finder(app) != []


def test_all_of_them_find_it_together(app: cdk.App, stack: cdk.Stack):
    _plant(stack)
    assert any("careless" in found.casefold() for found in all_findings(app))


def test_what_only_the_last_of_them_read_is_found_together_too(app: cdk.App, stack: cdk.Stack):
    cdk.Annotations.of(stack).add_warning_v2("test:careless", "this stack is careless")
    assert any("careless" in found for found in all_findings(app))


def _plant(stack: cdk.Stack) -> None:
    bucket = s3.CfnBucket(stack, "Careless")
    bucket.add_property_override("VersioningConfiguration.Status", "Sometimes")
    cdk.Annotations.of(bucket).add_warning_v2("test:careless", "this bucket is careless")
