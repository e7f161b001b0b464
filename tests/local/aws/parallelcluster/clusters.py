"""Clusters in a template without llm-fleet, as users of AWS's provider write it."""

import json
import time
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from llm_fleet_local.aws.client import LocalAws

URL = (
    "https://us-west-2-aws-parallelcluster.s3.us-west-2.amazonaws.com/parallelcluster/{version}/templates/"
    "custom_resource/cluster.yaml"
)
CAPABILITIES = ("CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")
SSM = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"


class Clusters:
    """Deploys stacks with a provider and a cluster, and returns the results."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self.cloudformation = aws.client("cloudformation")
        ec2, s3 = aws.client("ec2"), aws.client("s3")
        self.vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        ec2.modify_vpc_attribute(VpcId=self.vpc, EnableDnsHostnames={"Value": True})
        subnet = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.0.0/20", AvailabilityZone="us-west-2b")
        self.subnet = subnet["Subnet"]["SubnetId"]
        s3.create_bucket(Bucket="scripts", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        s3.put_object(Bucket="scripts", Key="entry.sh", Body=b"#!/bin/bash\n")

    def configuration(self) -> dict[str, Any]:
        subnet = self.subnet
        queue = {
            "Name": "trn1",
            "ComputeResources": [
                {"Name": "trn1", "InstanceType": "trn1.32xlarge", "MaxCount": 4, "Efa": {"Enabled": True}}
            ],
            "Networking": {"SubnetIds": [subnet], "PlacementGroup": {"Enabled": True}},
        }
        return {
            "Image": {"Os": "alinux2023"},
            "HeadNode": {
                "InstanceType": "c5.2xlarge",
                "Networking": {"SubnetId": subnet},
                "Iam": {"AdditionalIamPolicies": [{"Policy": SSM}]},
                "CustomActions": {"OnNodeConfigured": {"Script": "s3://scripts/entry.sh", "Args": ["one"]}},
            },
            "Scheduling": {
                "Scheduler": "slurm",
                "SlurmSettings": {"QueueUpdateStrategy": "DRAIN"},
                "SlurmQueues": [queue],
            },
        }

    def template(
        self, name: str, configuration: dict[str, Any], *, version: str = "3.16.1", **more: Any
    ) -> dict[str, Any]:
        token = {"Fn::GetAtt": ["Provider", "Outputs.ServiceToken"]}
        properties = {"ServiceToken": token, "ClusterName": name, "ClusterConfiguration": deepcopy(configuration)}
        provider = {"TemplateURL": URL.format(version=version), "Parameters": {"AdditionalIamPolicies": SSM}}
        outputs = {
            "Head": {"Value": {"Fn::GetAtt": ["Cluster", "headNode.privateIpAddress"]}},
            "Log": {"Value": {"Fn::GetAtt": ["Provider", "Outputs.LogGroupArn"]}},
            "Layer": {"Value": {"Fn::GetAtt": ["Provider", "Outputs.LambdaLayerArn"]}},
            "Messages": {"Value": {"Fn::GetAtt": ["Cluster", "validationMessages"]}},
        }
        return {
            "Resources": {
                "Provider": {"Type": "AWS::CloudFormation::Stack", "Properties": provider},
                "Cluster": {"Type": "Custom::PclusterCluster", "Properties": properties | more},
            },
            "Outputs": outputs,
        }

    def deploy(
        self, stack: str, template: dict[str, Any], capabilities: Sequence[str] = CAPABILITIES, **options: Any
    ) -> str:
        """Create or update a stack; return its status."""
        there = [one["StackName"] for one in self.cloudformation.describe_stacks()["Stacks"]]
        act = self.cloudformation.update_stack if stack in there else self.cloudformation.create_stack
        act(StackName=stack, TemplateBody=json.dumps(template), Capabilities=list(capabilities), **options)
        return self._settled(stack)

    def destroy(self, stack: str) -> str:
        stack_id = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackId"]
        self.cloudformation.delete_stack(StackName=stack)
        return self._settled(stack_id)

    def outputs(self, stack: str) -> dict[str, str]:
        found = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        return {one["OutputKey"]: one["OutputValue"] for one in found}

    def names(self) -> set[str]:
        return {one["StackName"] for one in self.cloudformation.describe_stacks()["Stacks"]}

    def why(self, stack: str) -> str:
        """Return why the last operation on a stack failed."""
        events = self.aws.events(stack)
        reported = [event for event in events if event["OperationId"] == events[-1]["OperationId"]]
        return "; ".join(
            event.get("ResourceStatusReason", "") for event in reported if event["ResourceStatus"].endswith("_FAILED")
        )

    def deployed(self, name: str) -> dict[str, Any]:
        return self.cloudformation.get_template(StackName=name)["TemplateBody"]["Metadata"]

    def _settled(self, stack: str) -> str:
        while True:
            status = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            if not status.endswith("_IN_PROGRESS"):
                return status
            time.sleep(0.05)
