"""Lists inference services, from the APIs of ECS, Elastic Load Balancing and auto scaling."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from llm_fleet_local.command.tables import table


class InferenceServices:
    """Tables of each service in one region: its tasks, hosts and listener rules."""

    def __init__(self, client: Callable[[str], Any], console: Console, assembly: Path) -> None:
        """Query the services with boto3 clients from `client`; print to `console`. `assembly` was deployed."""
        self._client = client
        self._console = console
        self._assembly = assembly

    def show(self) -> None:
        """Print all tables, or nothing if no service has a load balancer."""
        for service in self._services():
            self._console.print(self._tasks(service))
            self._say_hosts(service)
            target = service["loadBalancers"][0]["targetGroupArn"]
            (group,) = self._client("elbv2").describe_target_groups(TargetGroupArns=[target])["TargetGroups"]
            for arn in group["LoadBalancerArns"]:
                (balancer,) = self._client("elbv2").describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"]
                self._console.print(self._rules(balancer))
                self._say_url(balancer)

    def _services(self) -> Iterator[dict[str, Any]]:
        ecs = self._client("ecs")
        for cluster in ecs.list_clusters()["clusterArns"]:
            arns = ecs.list_services(cluster=cluster)["serviceArns"]
            found: list[dict[str, Any]] = (
                ecs.describe_services(cluster=cluster, services=arns)["services"] if arns else []
            )
            yield from (service for service in found if service.get("loadBalancers"))

    def _tasks(self, service: Mapping[str, Any]) -> Table:
        name = service["taskDefinition"]
        definition = self._client("ecs").describe_task_definition(taskDefinition=name)["taskDefinition"]
        shown = table(
            f"inference service {service['serviceName']} ({service['status']}), {service['desiredCount']} tasks",
            "container",
            "image",
            "devices",
            "memory",
        )
        for container in definition["containerDefinitions"]:
            devices = container.get("linuxParameters", {}).get("devices", [])
            requested = [each["type"] for each in container.get("resourceRequirements", [])]
            shown.add_row(
                container["name"],
                container["image"],
                ", ".join([*(device["hostPath"] for device in devices), *requested]),
                f"{container.get('memory', container.get('memoryReservation', ''))} MiB",
            )
        return shown

    def _say_hosts(self, service: Mapping[str, Any]) -> None:
        names = [strategy["capacityProvider"] for strategy in service["capacityProviderStrategy"]]
        ecs, scaling = self._client("ecs"), self._client("autoscaling")
        for provider in ecs.describe_capacity_providers(capacityProviders=names)["capacityProviders"]:
            if "autoScalingGroupProvider" not in provider:
                self._console.print(f"its hosts: {provider['name']}, managed by ECS\n", highlight=False)
                continue
            name = provider["autoScalingGroupProvider"]["autoScalingGroupArn"].rsplit("/", 1)[-1]
            (group,) = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
            launch = group["LaunchTemplate"]
            (version,) = self._client("ec2").describe_launch_template_versions(
                LaunchTemplateId=launch["LaunchTemplateId"], Versions=[launch["Version"]]
            )["LaunchTemplateVersions"]
            kind = version["LaunchTemplateData"]["InstanceType"]
            self._console.print(
                f"its hosts: {len(group['Instances'])} of at most {group['MaxSize']} {kind} in "
                f"{group['AutoScalingGroupName']}\n",
                soft_wrap=True,
                highlight=False,
            )

    def _rules(self, balancer: Mapping[str, Any]) -> Table:
        elb = self._client("elbv2")
        shown = table(f"its load balancer, {balancer['Scheme']}", "port", "requests", "answer")
        for listener in elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]:
            rules = elb.describe_rules(ListenerArn=listener["ListenerArn"])["Rules"]
            for rule in sorted(rules, key=lambda each: _place(each["Priority"])):
                conditions = " and ".join(map(_condition, rule.get("Conditions", []))) or "all others"
                answers = ", then ".join(map(_action, rule["Actions"]))
                shown.add_row(f"{listener['Protocol']} {listener['Port']}", conditions, answers)
        return shown

    def _say_url(self, balancer: Mapping[str, Any]) -> None:
        assembly = os.path.relpath(self._assembly)
        self._console.print(
            f"""On AWS, OpenAI's clients reach it at {balancer["DNSName"]}; here nothing listens there.
To run a stand-in of the model behind these rules on this machine, with a key and a curl command:
  llm-fleet local serve {assembly}
""",
            soft_wrap=True,
            highlight=False,
        )


def _place(priority: str) -> int:
    return int(priority) if priority.isdigit() else 1_000_000


def _condition(condition: Mapping[str, Any]) -> str:
    if headers := condition.get("HttpHeaderConfig"):
        return f"{headers['HttpHeaderName']}: {' or '.join(headers['Values'])}"
    values = next((each["Values"] for key, each in condition.items() if key.endswith("Config")), None)
    return " or ".join(values if values is not None else condition.get("Values", []))


def _action(action: Mapping[str, Any]) -> str:
    match action["Type"]:
        case "fixed-response":
            return f"{action['FixedResponseConfig']['StatusCode']} from the load balancer"
        case "redirect":
            return (
                f"redirect to {action['RedirectConfig'].get('Protocol', '')} {action['RedirectConfig'].get('Port', '')}"
            )
        case "forward":
            return "the model's"
        case other:
            return other
