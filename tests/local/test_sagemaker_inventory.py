"""What the demo shows of SageMaker's pieces, required of an emulation's own APIs."""

import json
from io import StringIO
from pathlib import Path

from rich.console import Console

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.command.inventory import Inventory

ROLE = "arn:aws:iam::123456789012:role/r"
IMAGE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-vllm:0.27.1"
SERVICES = ["sagemaker.amazonaws.com", "states.amazonaws.com"]
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": SERVICES}, "Action": "sts:AssumeRole"}],
}
WORK = {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}


def test_notebooks_endpoints_and_jobs_are_shown() -> None:
    console = Console(file=StringIO(), width=120)
    with LocalAws(region="us-west-2") as aws:
        aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps(TRUST))
        sagemaker = aws.client("sagemaker")
        sagemaker.create_notebook_instance(
            NotebookInstanceName="tutorials",
            InstanceType="ml.t3.medium",
            RoleArn=ROLE,
            PlatformIdentifier="notebook-al2023-v1",
        )
        sagemaker.create_model(ModelName="m", ExecutionRoleArn=ROLE, PrimaryContainer={"Image": IMAGE})
        variant = {"VariantName": "v", "ModelName": "m", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 2}
        sagemaker.create_endpoint_config(EndpointConfigName="c", ProductionVariants=[variant])
        sagemaker.create_endpoint(EndpointName="gpt-j", EndpointConfigName="c")
        aws.client("stepfunctions").create_state_machine(name="text", roleArn=ROLE, definition=json.dumps(WORK))
        Inventory(endpoint=aws.endpoint, region="us-west-2", console=console, assembly=Path("cdk.out")).show()
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    for reported in ("tutorials", "gpt-j", "2 ml.g5.xlarge", "huggingface-vllm:0.27.1", "text", "ACTIVE"):
        assert reported in shown, shown
