"""What a notebook instance is for those who use it."""

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct


@jsii.implements(iam.IGrantable, ec2.IConnectable)
class NotebookBase(Construct):
    """A notebook instance for those who use it. `TrainingNotebook` sets what is here."""

    notebook_instance_name: str
    """Its name."""
    role: iam.Role
    """What people act with on it, and what their jobs and endpoints are given."""
    bucket: s3.IBucket
    """The first of its buckets: what the SDK takes for its default one."""
    instance: sagemaker.CfnNotebookInstance
    """The L1 beneath."""
    security_group: ec2.SecurityGroup | None
    """Its own; `None` without a network."""
    _connections: ec2.Connections | None = None

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """Its role: `bucket.grant_read(notebook)`, `repository.grant_pull(notebook)`."""
        return self.role.grant_principal

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Its security group: `file_system.connections.allow_default_port_from(notebook)`. Empty without a network."""
        if self._connections is None:
            groups: list[ec2.ISecurityGroup] = [] if self.security_group is None else [self.security_group]
            self._connections = ec2.Connections(security_groups=groups)
        return self._connections

    @property
    def notebook_instance_arn(self) -> str:
        """Its ARN, a token."""
        return self.instance.ref

    def grant_open(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open it, start it and stop it, and no other."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[
                "sagemaker:CreatePresignedNotebookInstanceUrl",
                "sagemaker:DescribeNotebookInstance",
                "sagemaker:StartNotebookInstance",
                "sagemaker:StopNotebookInstance",
            ],
            resource_arns=[self.notebook_instance_arn],
        )

    def add_outputs(self) -> None:
        """Give the stack outputs: how to start and open it, its bucket and its role."""
        name = self.notebook_instance_name
        region = cdk.Stack.of(self).region
        of_it = f"--region {region} --notebook-instance-name {name}"
        outputs = {
            "NotebookName": (name, "Name of the notebook instance"),
            "StartCommand": (f"aws sagemaker start-notebook-instance {of_it}", "Starts it after it was stopped"),
            "OpenCommand": (
                f"aws sagemaker create-presigned-notebook-instance-url {of_it} --query AuthorizedUrl --output text",
                "Prints an address of JupyterLab that is good for a few minutes",
            ),
            "BucketName": (self.bucket.bucket_name, "What the SageMaker SDK takes for its default bucket"),
            "RoleArn": (self.role.role_arn, "What people act with on it, and what their jobs are given"),
        }
        for key, (value, description) in outputs.items():
            cdk.CfnOutput(self, key, value=value, description=description)
