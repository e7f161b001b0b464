"""Watches the Neuron devices of a service's hosts."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.inference_sight import neuron_health_facts
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.inference.ecs_role import EcsRole
from llm_fleet.inference.neuron_health_containers import detector_container, recovery_container


class NeuronHealth(Construct):
    """The Neuron problem detector as a daemon: one task on each EC2 host of a cluster.

    Source: aws-neuron-sdk, deploy/ecs/npd.rst. It finds hardware errors that do not mend themselves, writes them to
    the log, of which `ServiceAlarms` makes an alarm, and to CloudWatch's namespace `NeuronHealthCheck`.

    With `recover` it also declares the host unhealthy, so that its auto scaling group replaces it. Off by default, as
    in Neuron's own: the host is ended without draining, and a small fleet may not get another at once.

    Not on ECS Managed Instances, where AWS replaces impaired hosts itself and no device of the host is to be had.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        service_name: str,
        subnet_ids: Sequence[str],
        security_group_ids: Sequence[str],
        execution_role_arn: str,
        log: ecs.CfnTaskDefinition.LogConfigurationProperty,
        auto_scaling_group_name: str,
        recover: bool = False,
        detector_image: str | None = None,
        recovery_image: str | None = None,
    ) -> None:
        """Make role, task definition and daemon service `<service_name>-neuron-health`.

        - `subnet_ids`: those of the hosts. `security_group_ids`: let it reach CloudWatch by HTTPS, and nobody in.
        - `execution_role_arn`: writes the log.
        - `log`: where both containers write.
        - `auto_scaling_group_name`: of the hosts, for `recover`.
        - `detector_image`, `recovery_image`: default Neuron's, of registries that a closed network cannot reach.
        """
        super().__init__(scope, id)
        facts = neuron_health_facts()
        stack = cdk.Stack.of(self)
        place = Place(partition=stack.partition, region=stack.region, account=stack.account)
        group = place.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{auto_scaling_group_name}")
        self.role = EcsRole(
            self,
            "Role",
            description=f"Neuron problem detector beside {service_name}",
            permissions=_permissions(group, namespace=facts.namespace, recover=recover),
        )
        """What the recovery program acts with."""
        self.task_definition = ecs.CfnTaskDefinition(
            self,
            "TaskDefinition",
            family=f"{service_name}-neuron-health",
            network_mode="awsvpc",
            requires_compatibilities=["EC2"],
            memory=str(facts.task_memory_mib),
            container_definitions=[
                detector_container(image=detector_image, log=log),
                recovery_container(image=recovery_image, recover=recover, log=log),
            ],
            task_role_arn=self.role.role.role_arn,
            execution_role_arn=execution_role_arn,
        )
        """The L1 of the task."""
        acknowledge(
            self.task_definition,
            "the one variable switches recovery on and off; nothing is secret",
            "AwsSolutions-ECS2",
        )
        self.service = ecs.CfnService(
            self,
            "Service",
            cluster=cluster_name,
            service_name=f"{service_name}-neuron-health",
            task_definition=self.task_definition.ref,
            scheduling_strategy="DAEMON",
            launch_type="EC2",
            deployment_configuration=ecs.CfnService.DeploymentConfigurationProperty(
                minimum_healthy_percent=0, maximum_percent=100
            ),
            network_configuration=ecs.CfnService.NetworkConfigurationProperty(
                awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                    subnets=list(subnet_ids), security_groups=list(security_group_ids), assign_public_ip="DISABLED"
                )
            ),
            enable_ecs_managed_tags=True,
            propagate_tags="SERVICE",
        )
        """The L1 of the daemon service."""


def _permissions(group_arn: str, *, namespace: str, recover: bool) -> list[Permission]:
    """What Neuron's documents give it (k8s-neuron-problem-detector-and-recovery-irsa), less what is not used."""
    watching = [
        Permission(
            sid="TellNeuronHealth",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            reason="PutMetricData knows no resource; the condition leaves it the detector's namespace alone",
            conditions={"StringEquals": {"cloudwatch:namespace": namespace}},
        ),
        Permission(
            sid="FindOwnHost",
            actions=("ec2:DescribeInstances", "autoscaling:DescribeAutoScalingInstances"),
            resources=("*",),
            reason="the program looks up the host that it runs on; both actions know no resource",
        ),
    ]
    if not recover:
        return watching
    return [
        *watching,
        Permission(
            sid="GiveUpBrokenHost",
            actions=("autoscaling:SetInstanceHealth",),
            resources=(group_arn,),
            reason="a host with a broken device is declared unhealthy, so that its group replaces it; the `*` is the "
            "group's id, which nobody knows beforehand",
        ),
    ]
