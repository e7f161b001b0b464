"""`cdk synth` by the real CLI, with its validator on, reports no findings."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.local.aws.cli.cdk_cli import JSII_CACHE
from tools.synth_environment import ROOT

pytestmark = pytest.mark.cli
LAUNCH_POST = ROOT / "examples" / "hyperpod-trn1.yaml"


def test_the_output_is_the_result_alone(tmp_path: Path):
    out = tmp_path / "cdk.out"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    environment |= JSII_CACHE | {
        "HOME": str(tmp_path),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    # Notices are AWS's news of the day, not about this app.
    command = [
        str(ROOT / "node_modules" / ".bin" / "cdk"),
        "synth",
        "--quiet",
        "--no-notices",
        "--context",
        f"fleet={LAUNCH_POST}",
        "--output",
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Where the variable CI is set, the CLI speaks on stdout.
    lines = (done.stdout + done.stderr).splitlines()
    said = [line for line in lines if not line.startswith("Supply a stack id (")]
    assert said == [f"Successfully synthesized to {out}"]
