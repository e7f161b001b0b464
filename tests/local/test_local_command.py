"""`llm-fleet local`, which `make demo` calls: the real CDK CLI, twice, and what is shown at the end."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.server import DEFAULT_ACCOUNT, client_environment
from tools.synth_environment import ROOT

pytestmark = pytest.mark.cli
Demo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    """Run the demo's command line, with a folder and an AWS emulator of the test's own."""
    folder = tmp_path_factory.mktemp("demo")

    def run(*arguments: str, validation: str = "false") -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "LLM_FLEET_LOCAL_FOLDER": str(folder),
            "COLUMNS": "80",
            "CDK_VALIDATION": validation,
        }
        command = [sys.executable, "-m", "llm_fleet.cli.main", "local", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    yield run
    run("stop")


def test_the_first_demo_deploys_and_shows_what_exists(demo: Demo):
    first = demo("deploy", "examples/hyperpod-trn1.yaml", validation="true")  # as for a newcomer
    assert first.returncode == 0, first.stdout + first.stderr
    for expected in (
        "✅  launch-post-network",
        "✅  launch-post-storage",
        "✅  launch-post-ml-cluster",
        "HyperPod cluster ml-cluster (InService)",
        "nodes of worker-group run the lifecycle script on_init_complete.sh (OnInitComplete)",
        "4800 GiB",
        "on_init_complete.sh",
        "deployed to a local emulation",
    ):
        assert expected in first.stdout
    counted = re.search(r"✅  launch-post-network: (\d+ resources),", first.stdout)
    assert counted
    assert f"launch-post-network  us-west-2  CREATE_COMPLETE  {counted[1]}\n" in demo("status").stdout
    assert re.search(r"controller-group +Controller +ml\.m5\.xlarge +1 of 1", first.stdout)
    assert len(re.findall(r"i-[0-9a-f]{17} +worker-group +ml\.trn1\.32xlarge +Running", first.stdout)) == 4
    assert re.search(r"--target sagemaker-cluster:[a-z0-9]{12}_controller-group-i-[0-9a-f]{17}", first.stdout)
    assert len(first.stdout.splitlines()) <= 100, "two screens of 50 lines"
    assert "[Warning" not in first.stdout + first.stderr
    assert "Unknown option" not in first.stdout + first.stderr
    assert "…" not in first.stdout, "a narrow terminal cuts off what is there to be copied"


def test_the_second_demo_changes_nothing_and_plan_says_so(demo: Demo):
    """The CLI adds a note on itself (`AWS::CDK::Metadata`) to each template, which synth alone does not."""
    second = demo("deploy", "examples/hyperpod-trn1.yaml")
    assert second.returncode == 0, second.stdout + second.stderr
    assert second.stdout.count("(no changes)") == 4, second.stdout  # the bootstrap stack and three of the fleet
    endpoint = re.search(r"AWS emulator found at (\S+) ", second.stdout)
    assert endpoint
    client = LocalAws(endpoint=endpoint[1], region="us-west-2").client("cloudformation")
    deployed = client.get_template(StackName="launch-post-network")["TemplateBody"]
    assert "AWS::CDK::Metadata" in str(deployed), "the CLI no longer adds its note: the plan below shows nothing"
    environment = {**os.environ, **client_environment(endpoint[1], account=DEFAULT_ACCOUNT, region="us-west-2")}
    command = [str(Path(sys.executable).with_name("llm-fleet")), "plan", "examples/hyperpod-trn1.yaml"]
    plan = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert plan.returncode == 0, plan.stdout + plan.stderr
    assert "the deployed stacks do not change" in plan.stdout


def test_a_mistake_is_reported_before_anything_is_deployed(demo: Demo, tmp_path: Path):
    broken = tmp_path / "broken.yaml"
    text = (ROOT / "examples" / "hyperpod-trn1.yaml").read_text()
    broken.write_text(text.replace("ml.trn1.32xlarge", "trn1.32xlarge"))
    reported = demo("deploy", str(broken))
    assert reported.returncode == 1
    assert "write `ml.trn1.32xlarge`" in reported.stderr
    assert "cdk" not in reported.stdout


def test_a_protected_stack_is_reported_with_the_option_that_deletes_it(demo: Demo):
    protected = demo("destroy", "examples/hyperpod-trn1.yaml")
    assert protected.returncode == 1
    assert "TerminationProtection is enabled" in protected.stderr
    assert "DELETE_COMPLETE" not in protected.stderr, "only stacks that were not deleted are named"
    assert "add --unprotect" in protected.stderr
    assert "deleted: launch-post-ml-cluster" in demo("destroy", "examples/hyperpod-trn1.yaml", "--unprotect").stdout


def test_stop_ends_the_aws_emulator(demo: Demo):
    assert "stopped" in demo("stop").stdout
    assert "no AWS emulator is running" in demo("stop").stdout
