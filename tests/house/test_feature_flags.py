"""All feature flags that the pinned CDK CLI recommends are set, and seen alike on every way into synth."""

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk

from tools.synth_environment import ROOT, cdk_context

RECOMMENDED = ROOT / "node_modules" / "aws-cdk" / "lib" / "init-templates" / ".recommended-feature-flags.json"


REFERENCES = "@aws-cdk/core:defaultCrossStackReferences"
"""Our one flag that is not as recommended: stacks hold what they use of each other. Constructs ask for strong
references by themselves, too, as the app of a user may have any flag."""


def test_cdk_json_sets_every_recommended_flag():
    recommended = json.loads(RECOMMENDED.read_text())
    assert recommended[REFERENCES] == "weak"
    assert {flag: cdk_context().get(flag) for flag in recommended} == {**recommended, REFERENCES: "strong"}


def test_an_app_of_the_tests_sees_the_flags(app: cdk.App):
    assert {flag: app.node.try_get_context(flag) for flag in cdk_context()} == cdk_context()


def test_python_app_py_synthesizes_what_the_cli_does(tmp_path: Path):
    """The CLI hands the flags over in the environment; `python app.py` must not need that."""
    plain, as_cli = tmp_path / "plain", tmp_path / "cli"
    command = [sys.executable, "app.py"]
    fleet = {"LLM_FLEET_FILE": "examples/hyperpod-trn1.yaml"}
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **fleet, "CDK_OUTDIR": str(plain)})
    from_cli = {"CDK_OUTDIR": str(as_cli), "CDK_CONTEXT_JSON": json.dumps(cdk_context())}
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **fleet, **from_cli})
    templates = sorted(path.name for path in plain.glob("*.template.json"))
    assert templates
    for name in templates:
        assert (plain / name).read_text() == (as_cli / name).read_text()
