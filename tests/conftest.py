"""Shared set-up: the project's Node, no built-in validation (its own test turns it on), one app a test."""

import os

# Before the first jsii call: the Node child reads its environment when it starts.
os.environ["CDK_VALIDATION"] = "false"

from tools.synth_environment import cdk_context, use_project_node

use_project_node()

from pathlib import Path

import aws_cdk as cdk
import pytest

from parallelcluster_oracle.fixture import oracle as oracle

ENVIRONMENT = cdk.Environment(account="111122223333", region="us-west-2")


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    """An app with the project's feature flags that writes its assembly into the test's own folder."""
    return cdk.App(context=cdk_context(), outdir=str(tmp_path / "cdk.out"))


@pytest.fixture
def stack(app: cdk.App) -> cdk.Stack:
    """A stack of a known account and region."""
    return cdk.Stack(app, "Test", env=ENVIRONMENT)
