"""Shared set-up: the project's Node, no built-in validation (its own test turns it on), one app a test."""

import os

# Before the first jsii call: the Node child reads its environment when it starts.
os.environ["CDK_VALIDATION"] = "false"

from tools.synth_environment import cdk_context, use_project_node

use_project_node()

import gc
import shutil
from collections.abc import Generator

# Constructs live as long as their test: to search all of them after every 700 objects took a tenth of the time.
gc.set_threshold(100_000, 50, 1000)

from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.lifecycle import lifecycle_bundle, script_folder
from llm_fleet_local.parallelcluster.fixture import oracle as oracle
from tests.examples_made import ExamplesMade

LONGEST_FIRST = (
    "tests/tools/",
    "tests/local/test_local_command.py",
    "tests/house/test_wheel.py",
    "tests/cli/new/",
    "tests/local/aws/cli/",
    "tests/stacks/",
    "tests/deployment/",
    "tests/local/aws/",
    "tests/house/",
)
"""Files with few but long tests; if they began last, one of two processes would have no work."""
ENVIRONMENT = cdk.Environment(account="111122223333", region="us-west-2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long tests first (the Makefile keeps xdist from changing the order); deselect tests that need root."""

    def place(item: pytest.Item) -> int:
        return next((n for n, folder in enumerate(LONGEST_FIRST) if item.nodeid.startswith(folder)), len(LONGEST_FIRST))

    items.sort(key=place)
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="only root may do this: `make scenarios` runs it"))


def pytest_collection_finish() -> None:
    """Exclude what all tests have imported from garbage collection; pytest makes five full collections at its end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    """An app with the project's feature flags, whose assembly is written into the test's own folder."""
    return cdk.App(context=cdk_context(), outdir=str(tmp_path / "cdk.out"))


@pytest.fixture
def stack(app: cdk.App) -> cdk.Stack:
    """A stack of a known account and region."""
    return cdk.Stack(app, "Test", env=ENVIRONMENT)


@pytest.fixture(scope="module")
def few_scripts(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Bundles with only the scripts that nodes run first, for tests of other resources.

    The other 340 files of a bundle take half of the time of a deployment to the AWS emulator.
    """
    folder = tmp_path_factory.mktemp("few-scripts")
    for file in script_folder.default_folder().iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifecycle_bundle, "default_folder", lambda: folder)
        yield folder


@pytest.fixture(scope="session")
def examples_made(tmp_path_factory: pytest.TempPathFactory) -> ExamplesMade:
    """The assemblies of the examples, shared by all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "examples-made"
    folder.mkdir(exist_ok=True)
    return ExamplesMade(folder=folder)
