"""Monitors the Neuron devices of a service's hosts."""

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
    """Return the detector's rules: messages of the Neuron driver in the kernel log for a broken device."""
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
    """Return the container of the node problem detector, which reads the kernel log.

    Neuron's own task definition makes it privileged. Reading /dev/kmsg needs the device and, with `dmesg_restrict`, the
    capability SYSLOG (Linux, kernel/printk), so it gets only these two. Not tested on AWS:
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
    """Return Neuron's recovery container: it queries the detector, publishes a metric and replaces the host.

    It is not essential, unlike in Neuron's own task definition: the detector also logs the errors.
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

    It reads hardware errors that are not recoverable from the kernel log and writes them to the service's log, on which
    `ServiceAlarms` creates an alarm. It has no network and no role.

    With `recover`, Neuron's recovery program runs next to it: it publishes metrics (namespace `NeuronHealthCheck`) and
    sets the host unhealthy, so that its Auto Scaling group replaces it. That task uses the host's network, because it
    reads the instance id from the metadata service, which tasks with their own network cannot reach. Off by default, as
    in Neuron's own task definition: the host ends without draining, and capacity for a new one may be unavailable.

    Source: aws-neuron-sdk, deploy/ecs/npd.rst. Not on ECS Managed Instances: AWS replaces impaired hosts there,
    and tasks cannot use devices of the host.
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
        """Create the task definition and the daemon service `<service_name>-neuron-health`, and with `recover` a role.

        - `execution_role_arn`: the role that writes the log.
        - `log`: log group of the containers.
        - `auto_scaling_group_name`: of the hosts; required with `recover` (`ValueError`).
        - `detector_image`, `recovery_image`: default: Neuron's, whose registries need internet access.
        """
        super().__init__(scope, id)
        self.role: ServiceRole | None = None
        """Task role of the recovery program; `None` without it."""
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
        """The L1 construct of the task definition."""
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
        """The L1 construct of the daemon service."""

    def _role(self, service_name: str, group_name: str | None) -> ServiceRole:
        if group_name is None:
            raise ValueError("recover=True requires auto_scaling_group_name")
        place = Place.of(self)
        return ecs_role(
            self,
            "Role",
            description=f"Neuron problem detector of {service_name}",
            permissions=_permissions(place.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{group_name}")),
        )


def _explain_host_network(task_definition: ecs.CfnTaskDefinition) -> None:
    acknowledge(task_definition, "the only variable enables recovery; it is not a secret", "AwsSolutions-ECS2")
    acknowledge(
        task_definition,
        "the recovery program reads the instance id from the metadata service, which only the host's network reaches; "
        "its own task definition has only the user root",
        "NIST.800.53.R5-ECSTaskDefinitionUserForHostMode",
    )


def _permissions(group_arn: str) -> list[Permission]:
    """Permissions of the recovery program in Neuron's documentation (its page on IRSA)."""
    return [
        Permission(
            sid="TellNeuronHealth",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            reason="PutMetricData supports no resource; the condition limits it to the detector's namespace",
            conditions={"StringEquals": {"cloudwatch:namespace": neuron_health_facts().namespace}},
        ),
        Permission(
            sid="FindOwnHost",
            actions=("ec2:DescribeInstances", "autoscaling:DescribeAutoScalingInstances"),
            resources=("*",),
            reason="the program looks up the host that it runs on; both actions support no resource",
        ),
        Permission(
            sid="GiveUpBrokenHost",
            actions=("autoscaling:SetInstanceHealth",),
            resources=(group_arn,),
            reason="a host with a broken device is set unhealthy, so that its group replaces it; the `*` is the "
            "group's id, which AWS generates",
        ),
    ]
