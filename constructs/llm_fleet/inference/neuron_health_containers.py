"""The two containers of the Neuron problem detector."""

import json
import shlex

from aws_cdk import aws_ecs as ecs

from llm_fleet.catalog.service import neuron_health_facts

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
