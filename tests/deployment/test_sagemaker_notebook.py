"""The notebook of the example, deployed to a local emulation: read back by boto3, started, and stopping itself."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from tests.deployment.conftest import synthesize
from tests.lifecycle_scripts.notebook_instance.throwaway_notebook import ThrowawayNotebook
from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples" / "sagemaker-notebook.yaml"
NAME = "lab-tutorials"


class Deployed:
    """The notebook as boto3 sees it."""

    def __init__(self, aws: LocalAws, assembly: Path) -> None:
        self.aws = aws
        self.assembly = assembly
        self.sagemaker = aws.client("sagemaker")
        self.instance: dict[str, Any] = self.sagemaker.describe_notebook_instance(NotebookInstanceName=NAME)

    @property
    def status(self) -> str:
        return self.sagemaker.describe_notebook_instance(NotebookInstanceName=NAME)["NotebookInstanceStatus"]

    @property
    def script(self) -> str:
        """What SageMaker would run at each start."""
        name = self.instance["NotebookInstanceLifecycleConfigName"]
        reported = self.sagemaker.describe_notebook_instance_lifecycle_config(NotebookInstanceLifecycleConfigName=name)
        (hook,) = reported["OnStart"]
        return base64.b64decode(hook["Content"]).decode()

    @property
    def bucket(self) -> str:
        (stack,) = self.aws.client("cloudformation").describe_stacks(StackName="lab-tutorials")["Stacks"]
        (found,) = [one["OutputValue"] for one in stack["Outputs"] if one["OutputKey"].startswith("NotebookBucketName")]
        return found


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Deployed]:
    """The example, for all tests here; the last of them destroys it."""
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        assembly = synthesize(tmp_path_factory.mktemp("notebook") / "cdk.out", EXAMPLE)
        report = aws.deploy(assembly)
        assert report.succeeded, report
        yield Deployed(aws, assembly)


def test_it_is_private_encrypted_and_of_a_living_platform(deployed: Deployed):
    reported = deployed.instance
    assert reported["NotebookInstanceStatus"] == "InService"
    assert (reported["InstanceType"], reported["PlatformIdentifier"]) == ("ml.t3.medium", "notebook-al2023-v1")
    assert (reported["DirectInternetAccess"], reported["RootAccess"]) == ("Disabled", "Disabled")
    assert reported["InstanceMetadataServiceConfiguration"] == {"MinimumInstanceMetadataServiceVersion": "2"}
    assert reported["DefaultCodeRepository"] == "https://github.com/aws/amazon-sagemaker-examples.git"
    key = deployed.aws.client("kms").describe_key(KeyId=reported["KmsKeyId"])["KeyMetadata"]
    assert key["KeyState"] == "Enabled"
    (subnet,) = deployed.aws.client("ec2").describe_subnets(SubnetIds=[reported["SubnetId"]])["Subnets"]
    assert (subnet["AvailabilityZoneId"], subnet["MapPublicIpOnLaunch"]) == ("usw2-az4", False)


def test_it_gets_out_by_https_alone_and_nothing_gets_in(deployed: Deployed):
    ways = Reachability(deployed.aws.client("ec2"))
    notebook = Place(groups=tuple(deployed.instance["SecurityGroups"]), subnet_id=deployed.instance["SubnetId"])
    (group,) = deployed.aws.client("ec2").describe_security_groups(GroupIds=list(notebook.groups))["SecurityGroups"]
    assert group["IpPermissions"] == []
    assert [(one["FromPort"], one["ToPort"]) for one in group["IpPermissionsEgress"]] == [(443, 443)]
    assert not ways.sends(notebook, notebook, 22)
    assert str(ways.default_route(deployed.instance["SubnetId"])).startswith("nat-")


def test_its_script_starts_an_instance(deployed: Deployed, tmp_path: Path):
    notebook = ThrowawayNotebook(tmp_path / "root")
    ended = notebook.start(deployed.script)
    assert ended.returncode == 0, ended.stderr
    assert notebook.text("etc/llm-fleet/constraints.txt") == "sagemaker<3\n"
    session = json.loads(notebook.text("etc/xdg/sagemaker/config.yaml"))["SageMaker"]["PythonSDK"]["Modules"]["Session"]
    assert session == {"DefaultS3Bucket": deployed.bucket}
    assert json.loads(notebook.text("etc/llm-fleet/notebook.json"))["idle_minutes"] == 60


def test_its_role_does_what_a_tutorial_does_and_no_more(deployed: Deployed):
    role = deployed.instance["RoleArn"]
    with deployed.aws.as_role(role) as client:
        s3, sagemaker = client("s3"), client("sagemaker")
        s3.put_object(Bucket=deployed.bucket, Key="code/sourcedir.tar.gz", Body=b"code")
        s3.list_objects_v2(Bucket=deployed.bucket)
        assert sagemaker.describe_notebook_instance(NotebookInstanceName=NAME)["RoleArn"] == role
        for name, allowed in (("huggingface-pytorch-training-1", True), ("payroll-1", False)):
            assert _may(lambda name=name: sagemaker.stop_training_job(TrainingJobName=name)) is allowed, name
            assert _may(lambda name=name: sagemaker.delete_endpoint(EndpointName=name)) is allowed, name
        assert not _may(lambda: sagemaker.stop_notebook_instance(NotebookInstanceName="anothers"))
        assert not _may(lambda: client("iam").create_user(UserName="me"))
        assert not _may(lambda: s3.list_buckets())


def test_idle_it_stops_itself_with_its_own_role_and_says_why(deployed: Deployed, tmp_path: Path):
    notebook, role = ThrowawayNotebook(tmp_path / "root"), deployed.instance["RoleArn"]
    assert notebook.start(deployed.script).returncode == 0
    (notebook.root / "proc").mkdir()
    (notebook.root / "proc/uptime").write_text("7200.00 0.00\n")
    (notebook.root / "opt/ml/metadata").mkdir(parents=True)
    metadata = {"ResourceName": NAME, "ResourceArn": deployed.instance["NotebookInstanceArn"]}
    (notebook.root / "opt/ml/metadata/resource-metadata.json").write_text(json.dumps(metadata))
    group = {"logGroupName": "/aws/sagemaker/NotebookInstances"}
    deployed.aws.client("logs").create_log_group(**group)
    keys = deployed.aws.client("sts").assume_role(RoleArn=role, RoleSessionName="lab")["Credentials"]
    environment = {
        "PATH": os.environ["PATH"],
        "LLM_FLEET_ROOT": str(notebook.root),
        "AWS_ENDPOINT_URL": deployed.aws.endpoint,
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
    with deployed.aws.as_role(role):
        ended = subprocess.run(
            [sys.executable, "-m", "notebook_instance"],
            cwd=notebook.root / "opt/llm-fleet",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("stopping: Jupyter does not answer (port 8443:")
    assert deployed.status == "Stopped"
    (stream,) = deployed.aws.client("logs").describe_log_streams(**group)["logStreams"]
    assert stream.get("logStreamName") == f"{NAME}/llm-fleet-auto-stop"


def test_destroyed_nothing_is_left_but_what_is_retained(deployed: Deployed):
    bucket = deployed.bucket
    report = deployed.aws.destroy(deployed.assembly, unprotect=True)
    assert report.succeeded, report
    assert deployed.sagemaker.list_notebook_instances()["NotebookInstances"] == []
    assert bucket in [one["Name"] for one in deployed.aws.client("s3").list_buckets()["Buckets"]], "data stays"
    key = deployed.aws.client("kms").describe_key(KeyId=deployed.instance["KmsKeyId"])["KeyMetadata"]
    assert key["KeyState"] == "Enabled", "and so does what it can be read with"


def _may(call: Any) -> bool:
    """Whether IAM lets the call through; what the service says of it afterwards is not queried."""
    try:
        call()
    except ClientError as error:
        return error.response.get("Error", {}).get("Code") not in {"AccessDenied", "AccessDeniedException", "403"}
    return True
