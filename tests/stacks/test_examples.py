"""The stacks of every example, synthesized once for all checks.

No checker finds anything. ParallelCluster's own schema and validators accept the configurations. References between
stacks are strong, with any value of the app's flag. The templates and the picture are unchanged, because construct ids
and defaults are API; `make golden` updates them, and the difference is then reviewed in the commit.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet.cli.plan.picture_drawing import picture_of
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.parallelcluster.client import Oracle
from llm_fleet_stacks.cluster_stacks import ParallelClusterStack
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.assembly.assembly import Assembly
from tests.assembly.checks import EVERY_CHECK, names_twice
from tests.clean import Finder, all_findings, every_checker
from tests.examples_made import ExamplesMade
from tests.golden import differences
from tests.stacks.test_references import assert_strong, exports, weak_app
from tools.synth_environment import ROOT
from tools.synth_examples import ACCOUNT, EXAMPLES

PICTURES = ROOT / "docs" / "pictures"


@dataclass(frozen=True, kw_only=True)
class Made:
    """The stacks of an example, not yet synthesized."""

    example: Path
    app: cdk.App
    stacks: FleetStacks
    exports: Mapping[str, set[str]]
    """The exports of each stack, by the stack's name."""


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    example: Path = request.param
    app = weak_app(tmp_path_factory.mktemp(example.stem))
    stacks = FleetStacks.make(app, load_fleet(example), account=ACCOUNT)
    return Made(example=example, app=app, stacks=stacks, exports=exports(app))


def test_no_checker_finds_anything(made: Made):
    # This test is the first: no checker can be added to a synthesized app.
    assert all_findings(made.app) == []


def test_references_between_stacks_are_strong_and_exports_do_not_depend_on_imports(made: Made):
    assert_strong(made.app, made.exports)


def test_golden_templates_are_unchanged(made: Made, examples_made: ExamplesMade):
    templates = {stack.stack_name: stack.template for stack in made.app.synth().stacks}
    examples_made.keep(made.example.stem, Path(made.app.outdir))
    found = differences(made.example.stem, templates)
    assert not found, f"the templates have changed: read the difference, then run `make golden`\n{''.join(found)}"
    assert _stored_picture(made) == picture_of(Path(made.app.outdir)), "the picture has changed: run `make golden`"


def test_the_stacks_are_consistent(made: Made):
    """No duplicate rules or names, no lost outbound rules, and stacks that can be deleted in order."""
    assembly = Assembly.read(Path(made.app.synth().directory))
    assert {check.__name__: found for check in EVERY_CHECK if (found := check(assembly))} == {}


@pytest.mark.parametrize(
    "made",
    [path for path in EXAMPLES if path.stem.startswith("parallelcluster-")],
    indirect=True,
    ids=lambda path: path.stem,
)
def test_parallelcluster_itself_finds_no_error(made: Made, oracle: Oracle) -> None:
    clusters = [stack for stack in made.stacks.clusters.values() if isinstance(stack, ParallelClusterStack)]
    assert clusters
    for stack in clusters:
        configuration = stack.resolve(stack.cluster.configuration)
        found = oracle.validate(configuration, stack.cluster.cluster_name)
        assert [finding for finding in found if finding.level == "ERROR"] == []


@every_checker
def test_each_checker_finds_a_mistake(app: cdk.App, stack: cdk.Stack, finder: Finder):
    _plant(stack)
    assert finder(app) != []


def test_all_checkers_together_find_a_mistake(app: cdk.App, stack: cdk.Stack):
    _plant(stack)
    assert any("careless" in found.casefold() for found in all_findings(app))


def test_all_checkers_together_find_a_mistake_that_only_the_last_one_checks(app: cdk.App, stack: cdk.Stack):
    cdk.Annotations.of(stack).add_warning_v2("test:careless", "this stack is careless")
    assert any("careless" in found for found in all_findings(app))


def _plant(stack: cdk.Stack) -> None:
    bucket = s3.CfnBucket(stack, "Careless")
    bucket.add_property_override("VersioningConfiguration.Status", "Sometimes")
    cdk.Annotations.of(bucket).add_warning_v2("test:careless", "this bucket is careless")


def _stored_picture(made: Made) -> str:
    """Return the picture of the example in the docs, drawn again if that is requested. It needs no synth of its own."""
    kept = PICTURES / f"{made.example.stem}.svg"
    if os.environ.get("UPDATE_GOLDEN"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(picture_of(Path(made.app.outdir)), encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def test_names_of_examples_are_unique() -> None:
    """Both could not be deployed in one account: the names of all stacks begin with the fleet's."""
    names = [load_fleet(example).name for example in EXAMPLES]
    assert sorted(set(names)) == sorted(names)


def test_physical_names_in_examples_are_unique(examples_made: ExamplesMade) -> None:
    """Names of buckets are globally unique. Several examples call their HyperPod cluster `train`."""
    assemblies = [Assembly.read(examples_made.of(example.stem)) for example in EXAMPLES]
    together = Assembly(templates={name: one for made in assemblies for name, one in made.templates.items()})
    found = names_twice(together)
    assert [one for one in found if not one.startswith("AWS::SageMaker::Cluster")] == []
