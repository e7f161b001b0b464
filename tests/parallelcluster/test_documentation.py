"""The page on the cluster names every parameter, and its example is code that runs."""

import inspect
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

from llm_fleet import ParallelCluster, ParallelClusterSpec
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.parallelcluster.provider import provider_permissions
from tests.pages import CONSTRUCTS, run_examples

PAGE = CONSTRUCTS / "parallelcluster.md"
PARAMETERS = list(inspect.signature(ParallelCluster.__init__).parameters)[3:]
FIELDS = list(ParallelClusterSpec.model_fields)


@pytest.fixture
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_parameter_is_documented_on_the_page(page: str):
    assert [name for name in (*PARAMETERS, *FIELDS) if f"`{name}`" not in page] == []


def test_every_parameter_is_documented_in_the_docstring():
    text = inspect.getdoc(ParallelCluster.__init__) or ""
    without_their_paths = [name for name in PARAMETERS if not name.endswith("_mount_path")]
    assert [name for name in without_their_paths if f"`{name}`" not in text] == []


def test_every_statement_of_the_provider_is_documented_on_the_page(page: str):
    source = inspect.getsource(inspect.getmodule(provider_permissions) or provider_permissions)
    ids = [line.split('"')[1] for line in source.splitlines() if line.strip().startswith('sid="')]
    assert len(ids) > 5
    assert [name for name in ids if f"`{name}`" not in page] == []


def test_the_example_runs(page: str, stack: cdk.Stack):
    engineers = iam.Role.from_role_name(stack, "Engineers", "ml-engineers")
    names = run_examples(page, stack, number=1, engineers=engineers)
    assert isinstance(names["cluster"], ParallelCluster)


def test_the_fleet_file_is_valid(page: str, tmp_path: Path):
    path = tmp_path / "fleet.yaml"
    path.write_text(page.split("```yaml\n")[1].split("```")[0])
    assert list(load_fleet(path).clusters) == ["train"]
