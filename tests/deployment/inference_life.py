"""A life of the example's inference service in an AWS emulator: refused without its model, then deployed."""

from dataclasses import dataclass
from pathlib import Path

from llm_fleet_local.aws.assembly.report import DeploymentReport, StackReport
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tests.deployment.inference_on_aws import BUCKET, InferenceOnAws, lay_model
from tests.deployment.what_is_there import what_is_there
from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples" / "inference-inf2.yaml"
STACK = "inference-chat"


@dataclass(kw_only=True)
class Life:
    """One service, and what resulted from the attempt to deploy it before its model was there."""

    aws: LocalAws
    folder: Path
    assembly: Path
    before: dict[str, list[str]]
    without_model: DeploymentReport
    left_without_model: dict[str, list[str]]
    on_aws: InferenceOnAws

    def file(self, name: str, old: str, new: str) -> Path:
        """The example with one text in place of another."""
        text = EXAMPLE.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        file = self.folder / f"{name}.yaml"
        file.write_text(text.replace(old, new), encoding="utf-8")
        return file

    def deploy(self, name: str, old: str, new: str) -> tuple[StackReport, set[str]]:
        """Deploy the example with a change; return the service's stack, and which of its resources were touched."""
        last = self.aws.last_event(STACK)
        report = self.aws.deploy(synthesize(self.folder / name, self.file(name, old, new)))
        events = self.aws.events(STACK, after=last)
        touched = {
            event["LogicalResourceId"] for event in events if event["ResourceType"] != "AWS::CloudFormation::Stack"
        }
        return report.stacks[-1], {_plain(name) for name in touched}


def _plain(logical_id: str) -> str:
    """A logical id without the hash that the CDK adds."""
    return logical_id[:-8]


def begin_life(aws: LocalAws, folder: Path) -> Life:
    """Deploy the example twice: its model is not there at first."""
    aws.bootstrap()
    before = what_is_there(aws)
    assembly = synthesize(folder / "first", EXAMPLE)
    without_model = aws.deploy(assembly)
    left_without_model = what_is_there(aws)
    place = {"LocationConstraint": aws.region}
    aws.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
    lay_model(aws)
    deployed = aws.deploy(assembly)
    assert deployed.succeeded, deployed
    return Life(
        aws=aws,
        folder=folder,
        assembly=assembly,
        before=before,
        without_model=without_model,
        left_without_model=left_without_model,
        on_aws=InferenceOnAws(aws),
    )
