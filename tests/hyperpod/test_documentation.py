"""The page on the cluster names every parameter, and its example is code that runs."""

import inspect

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

from llm_fleet import HyperPodCluster, HyperPodClusterSpec
from tests.pages import CONSTRUCTS, run_examples

PAGE = CONSTRUCTS / "hyperpod-cluster.md"


@pytest.fixture
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_parameter_is_documented_on_the_page(page: str) -> None:
    parameters = list(inspect.signature(HyperPodCluster.__init__).parameters)[3:]
    assert [name for name in (*parameters, *HyperPodClusterSpec.model_fields) if f"`{name}`" not in page] == []


def test_every_parameter_is_documented_in_the_docstring() -> None:
    parameters = list(inspect.signature(HyperPodCluster.__init__).parameters)[3:]
    text = inspect.getdoc(HyperPodCluster.__init__) or ""
    without_their_paths = [name for name in parameters if not name.endswith("_mount_path")]
    assert [name for name in without_their_paths if f"`{name}`" not in text] == []


def test_the_example_runs(page: str, stack: cdk.Stack) -> None:
    engineers = iam.Role.from_role_name(stack, "Engineers", "ml-engineers")
    names = run_examples(page, stack, number=1, engineers=engineers)
    assert isinstance(names["cluster"], HyperPodCluster)
