"""Watches the Neuron devices of a service's hosts."""

import json
import shlex

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import neuron_health_facts, neuron_health_memory_mib
from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.inference.cluster import ecs_role

_Task = ecs.CfnTaskDefinition
_KMSG = "/dev/kmsg"
_RULES = "/config/kernel-monitor.json"
_RESTART_SECONDS = 60


def detector_rules() -> dict[str, object]:
    """Return what the detector looks for: what the Neuron driver writes into the kernel's log for a broken device."""
    return {
        "plugin": "kmsg",
        "logPath": _KMSG,
        "lookback": "5m",
        "bufferSize": 10,
        "source": "kernel-monitor",
        "conditions": [
            {"type": "NeuronHealth", "reason": "NeuronHasNoError", "message": "Neuron has no error"},
        ],
        "rules": [
            {
                "type": "permanent",
                "condition": "NeuronHealth",
                "reason": f"NeuronHasError_{error}",
                "pattern": f".*NEURON_HW_ERR={error}.*",
            }
            for error in neuron_health_facts().errors
        ],
    }


def detector_container(
    *, image: str | None, log: ecs.CfnTaskDefinition.LogConfigurationProperty
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
    """Return the node problem detector, which reads the kernel's log.

    Neuron's own task definition makes it privileged. Reading /dev/kmsg takes the device and, where `dmesg_restrict` is
    set, the capability SYSLOG (Linux, kernel/printk), so it gets these two and no more. Not run on AWS:
    assumption: neuron-health-without-privilege
    """
    facts = neuron_health_facts()
    rules = shlex.quote(json.dumps(detector_rules(), separators=(",", ":")))
    return _Task.ContainerDefinitionProperty(
        name="detector",
        image=image or facts.detector_image,
        essential=True,
        cpu=facts.cpu_units,
        memory=facts.detector_memory_mib,
        entry_point=["/bin/sh", "-c"],
        command=[
            f"echo {rules} > {_RULES} && exec /node-problem-detector --v=2 --logtostderr --enable-k8s-exporter=false "
            f"--config.system-log-monitor={_RULES}"
        ],
        linux_parameters=_Task.LinuxParametersProperty(
            capabilities=_Task.KernelCapabilitiesProperty(add=["SYSLOG"]),
            devices=[_Task.DeviceProperty(host_path=_KMSG, container_path=_KMSG, permissions=["read"])],
        ),
        log_configuration=log,
    )


def recovery_container(
    *, image: str | None, log: ecs.CfnTaskDefinition.LogConfigurationProperty
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
    """Return Neuron's recovery program, which asks the detector, tells CloudWatch and gives the host up.

    It is not essential, other than in Neuron's own task definition: what the detector finds is told by its log, too.
    """
    facts = neuron_health_facts()
    return _Task.ContainerDefinitionProperty(
        name="recovery",
        image=image or facts.recovery_image,
        essential=False,
        cpu=facts.cpu_units,
        memory=facts.recovery_memory_mib,
        entry_point=["/bin/sh", "-c"],
        command=["python scripts/check-health.py"],
        environment=[_Task.KeyValuePairProperty(name="ENABLE_RECOVERY", value="true")],
        readonly_root_filesystem=True,
        restart_policy=_Task.RestartPolicyProperty(enabled=True, restart_attempt_period=_RESTART_SECONDS),
        log_configuration=log,
    )


class NeuronHealth(Construct):
    """The Neuron problem detector as a daemon: one task on each EC2 host of a cluster.

    It reads the kernel's log for hardware errors that do not mend themselves and writes them to the service's log, of
    which `ServiceAlarms` makes an alarm. It has no network and no role.

    With `recover` Neuron's recovery program stands beside it: it tells CloudWatch (namespace `NeuronHealthCheck`) and
    declares the host unhealthy, so that its auto scaling group replaces it. That task is in the host's network, for it
    must ask the instance metadata which host it is on, which tasks of their own network may not. Off by default, as in
    Neuron's own task definition: the host ends without draining, and a small fleet may not get another at once.

    Source: aws-neuron-sdk, deploy/ecs/npd.rst. Not on ECS Managed Instances: AWS replaces impaired hosts there itself,
    and no device of the host is to be had.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        service_name: str,
        execution_role_arn: str,
        log: ecs.CfnTaskDefinition.LogConfigurationProperty,
        recover: bool = False,
        auto_scaling_group_name: str | None = None,
        detector_image: str | None = None,
        recovery_image: str | None = None,
    ) -> None:
        """Make task definition and daemon service `<service_name>-neuron-health`, and with `recover` a role.

        - `execution_role_arn`: writes the log.
        - `log`: where the containers write.
        - `auto_scaling_group_name`: of the hosts; with `recover` it must be told (`ValueError`).
        - `detector_image`, `recovery_image`: default Neuron's, of registries that a closed network cannot reach.
        """
        super().__init__(scope, id)
        self.role: ServiceRole | None = None
        """What the recovery program acts with; `None` without it."""
        containers = [detector_container(image=detector_image, log=log)]
        if recover:
            self.role = self._role(service_name, auto_scaling_group_name)
            containers.append(recovery_container(image=recovery_image, log=log))
        self.task_definition = ecs.CfnTaskDefinition(
            self,
            "TaskDefinition",
            family=f"{service_name}-neuron-health",
            network_mode="host" if recover else "none",
            requires_compatibilities=["EC2"],
            memory=str(neuron_health_memory_mib(recover=recover)),
            container_definitions=containers,
            task_role_arn=self.role.role.role_arn if self.role else None,
            execution_role_arn=execution_role_arn,
        )
        """The L1 of the task."""
        if recover:
            _explain_host_network(self.task_definition)
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
            enable_ecs_managed_tags=True,
            propagate_tags="SERVICE",
        )
        """The L1 of the daemon service."""

    def _role(self, service_name: str, group_name: str | None) -> ServiceRole:
        if group_name is None:
            raise ValueError("recover=True replaces hosts of an auto scaling group: tell auto_scaling_group_name")
        place = Place.of(self)
        return ecs_role(
            self,
            "Role",
            description=f"Neuron problem detector beside {service_name}",
            permissions=_permissions(place.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{group_name}")),
        )


def _explain_host_network(task_definition: ecs.CfnTaskDefinition) -> None:
    acknowledge(task_definition, "the one variable switches recovery on; nothing is secret", "AwsSolutions-ECS2")
    acknowledge(
        task_definition,
        "only in the host's network may the recovery program ask the instance metadata which host it is on; its own "
        "task definition has no user but root",
        "NIST.800.53.R5-ECSTaskDefinitionUserForHostMode",
    )


def _permissions(group_arn: str) -> list[Permission]:
    """What Neuron's documents give the recovery program (its page on IRSA)."""
    return [
        Permission(
            sid="TellNeuronHealth",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            reason="PutMetricData knows no resource; the condition leaves it the detector's namespace alone",
            conditions={"StringEquals": {"cloudwatch:namespace": neuron_health_facts().namespace}},
        ),
        Permission(
            sid="FindOwnHost",
            actions=("ec2:DescribeInstances", "autoscaling:DescribeAutoScalingInstances"),
            resources=("*",),
            reason="the program looks up the host that it runs on; both actions know no resource",
        ),
        Permission(
            sid="GiveUpBrokenHost",
            actions=("autoscaling:SetInstanceHealth",),
            resources=(group_arn,),
            reason="a host with a broken device is declared unhealthy, so that its group replaces it; the `*` is the "
            "group's id, which nobody knows beforehand",
        ),
    ]
