"""The launch post's cluster, deployed to a local emulation without the CDK CLI, for all tests that only read it."""

from collections.abc import Callable, Generator
from pathlib import Path

import aws_cdk as cdk
import pytest

from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.deployment.fleet_on_aws import FleetOnAws
from tools.synth_environment import ROOT, cdk_context

LAUNCH_POST = ROOT / "examples" / "hyperpod-trn1.yaml"
Synthesize = Callable[[], Path]


def synthesize(folder: Path, fleet_file: Path = LAUNCH_POST, *, account: str = "123456789012") -> Path:
    """Synthesize a fleet file into `folder`; return the assembly."""
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, load_fleet(fleet_file), account=account)
    app.synth()
    return folder


@pytest.fixture(scope="session")
def launch_post(tmp_path_factory: pytest.TempPathFactory) -> Generator[FleetOnAws]:
    """The launch post's cluster, for tests that only read it."""
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        assembly = synthesize(tmp_path_factory.mktemp("launch-post") / "cdk.out")
        report = aws.deploy(assembly)
        assert report.succeeded, report
        yield FleetOnAws(aws, assembly)
