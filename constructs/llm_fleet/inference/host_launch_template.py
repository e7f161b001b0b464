"""How a host of a service is started."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.catalog.neuron import ami_for, ami_parameter, host_facts
from llm_fleet.rules.inference.hosts import is_ami_id

_HOP_LIMIT = 1
"""The host's own programs and the agent, which shares the host's network, are one hop from the metadata; a task is
not the host, and must not have its credentials."""


class HostLaunchTemplate(Construct):
    """A launch template for hosts: metadata by IMDSv2 only, an encrypted gp3, no key pair, no public address."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        ami: str | None,
        instance_type: str,
        driver_version: str,
        root_volume_gib: int,
        profile: iam.CfnInstanceProfile,
        security_group: ec2.ISecurityGroup,
        user_data: str,
        name: str,
    ) -> None:
        """Make it. `user_data` is plain text; `name` is the tag by which people find hosts."""
        super().__init__(scope, id)
        facts = host_facts()
        tags = [cdk.CfnTag(key="Name", value=name)]
        template = ec2.CfnLaunchTemplate
        self.resource = ec2.CfnLaunchTemplate(
            self,
            "Resource",
            version_description=f"hosts of {name}",
            launch_template_data=template.LaunchTemplateDataProperty(
                image_id=image_id(ami, driver_version),
                instance_type=instance_type,
                iam_instance_profile=template.IamInstanceProfileProperty(arn=profile.attr_arn),
                user_data=cdk.Fn.base64(user_data),
                metadata_options=template.MetadataOptionsProperty(
                    http_endpoint="enabled",
                    http_tokens="required",
                    http_put_response_hop_limit=_HOP_LIMIT,
                    instance_metadata_tags="disabled",
                ),
                monitoring=template.MonitoringProperty(enabled=True),
                network_interfaces=[
                    template.NetworkInterfaceProperty(
                        device_index=0,
                        associate_public_ip_address=False,
                        delete_on_termination=True,
                        groups=[security_group.security_group_id],
                    )
                ],
                block_device_mappings=[
                    template.BlockDeviceMappingProperty(
                        device_name=facts.root_device,
                        ebs=template.EbsProperty(
                            volume_type="gp3",
                            volume_size=root_volume_gib,
                            throughput=facts.throughput_mib_s,
                            encrypted=True,
                            delete_on_termination=True,
                        ),
                    )
                ],
                tag_specifications=[
                    template.TagSpecificationProperty(resource_type=kind, tags=tags) for kind in ("instance", "volume")
                ],
            ),
        )
        """The L1 itself."""


def image_id(ami: str | None, driver_version: str) -> str:
    """Return the AMI's id, or a reference to the public parameter of one release, which never changes."""
    if ami is not None and is_ami_id(ami):
        return ami
    return f"{{{{resolve:ssm:{ami_parameter(ami or ami_for(driver_version))}}}}}"
