"""Queries the services for a deployed inference service, with boto3 only."""

import base64
import configparser
import fnmatch
import json
from functools import cached_property
from typing import Any

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place
from tests.lifecycle_scripts.inference_host.unpack import files_of, settings_of

CLUSTER = SERVICE = "inference-chat"
BUCKET, PREFIX = "my-models", "tanuki-8b"
_COMPILED = {
    "_serialized_key": "NxDNeuronConfig",
    "optimum_neuron_version": "0.3.0",
    "neuronxcc_version": "2.19.8089.0+8ab9f450",
    "tp_degree": 2,
    "batch_size": 4,
    "sequence_length": 4096,
    "torch_dtype": "bfloat16",
}


def lay_model(aws: LocalAws, *, bucket: str = BUCKET, prefix: str = PREFIX, **compiled: int | str) -> None:
    """Lay the example's model where it says, as optimum-neuron exports one; a few bytes are for the weights.

    `compiled`: what it was exported for, where that is not what the example `inference-inf2` asks for.
    """
    texts = {
        "config.json": "{}",
        "neuron_config.json": json.dumps(_COMPILED | compiled),
        "model.pt": "code",
        "checkpoint/weights/tp0_sharded_checkpoint.safetensors": "weights",
        "tokenizer.json": "{}",
    }
    for name, text in texts.items():
        aws.client("s3").put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=text.encode())


class InferenceOnAws:
    """The example's service, as the services report of it now."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self._client = aws.client

    @property
    def service(self) -> dict[str, Any]:
        (only,) = self._client("ecs").describe_services(cluster=CLUSTER, services=[SERVICE])["services"]
        return only

    @property
    def task_definition(self) -> dict[str, Any]:
        name = self.service["taskDefinition"]
        return self._client("ecs").describe_task_definition(taskDefinition=name)["taskDefinition"]

    def container(self, name: str) -> dict[str, Any]:
        return next(one for one in self.task_definition["containerDefinitions"] if one["name"] == name)

    @property
    def hosts(self) -> dict[str, Any]:
        """The auto scaling group behind the one capacity provider of the service."""
        (strategy,) = self.service["capacityProviderStrategy"]
        names = [strategy["capacityProvider"]]
        (provider,) = self._client("ecs").describe_capacity_providers(capacityProviders=names)["capacityProviders"]
        name = provider["autoScalingGroupProvider"]["autoScalingGroupArn"].rsplit("/", 1)[-1]
        groups = self._client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        return groups["AutoScalingGroups"][0] | {"provider": provider["autoScalingGroupProvider"]}

    @property
    def launch(self) -> dict[str, Any]:
        """The launch template's data, in the version that the hosts start from."""
        template = self.hosts["LaunchTemplate"]
        (version,) = self._client("ec2").describe_launch_template_versions(
            LaunchTemplateId=template["LaunchTemplateId"], Versions=[template["Version"]]
        )["LaunchTemplateVersions"]
        return version["LaunchTemplateData"]

    @cached_property
    def user_data(self) -> str:
        return base64.b64decode(self.launch["UserData"]).decode()

    @cached_property
    def host_files(self) -> dict[str, str]:
        """What the user data lays down on a host, by path."""
        return files_of(self.user_data)

    @property
    def host_units(self) -> dict[str, configparser.ConfigParser]:
        """The units among those files."""
        return {name: _unit(text) for name, text in self.host_files.items() if name.startswith("systemd/")}

    @cached_property
    def host_settings(self) -> dict[str, Any]:
        """What a host is reported."""
        return settings_of(self.user_data)

    @property
    def host_role(self) -> str:
        """The ARN of the hosts' role, by their instance profile."""
        name = self.launch["IamInstanceProfile"]["Arn"].rsplit("/", 1)[-1]
        profile = self._client("iam").get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
        (role,) = profile["Roles"]
        return role["Arn"]

    def statements_of(self, role_arn: str) -> list[dict[str, Any]]:
        """All that a role's policies say."""
        iam, name = self._client("iam"), role_arn.rsplit("/", 1)[-1]
        assert iam.list_role_policies(RoleName=name)["PolicyNames"] == []
        statements: list[dict[str, Any]] = []
        for attached in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
            version = iam.get_policy(PolicyArn=attached["PolicyArn"])["Policy"]["DefaultVersionId"]
            found = iam.get_policy_version(PolicyArn=attached["PolicyArn"], VersionId=version)["PolicyVersion"]
            statements += found["Document"]["Statement"]
        return statements

    @property
    def balancer(self) -> dict[str, Any]:
        (only,) = self._client("elbv2").describe_load_balancers()["LoadBalancers"]
        return only

    @property
    def balancer_attributes(self) -> dict[str, str]:
        arn = self.balancer["LoadBalancerArn"]
        return _attributes(self._client("elbv2").describe_load_balancer_attributes(LoadBalancerArn=arn))

    @property
    def target_group(self) -> dict[str, Any]:
        (only,) = self._client("elbv2").describe_target_groups()["TargetGroups"]
        return only

    @property
    def target_attributes(self) -> dict[str, str]:
        arn = self.target_group["TargetGroupArn"]
        return _attributes(self._client("elbv2").describe_target_group_attributes(TargetGroupArn=arn))

    @property
    def listeners(self) -> list[dict[str, Any]]:
        arn = self.balancer["LoadBalancerArn"]
        return self._client("elbv2").describe_listeners(LoadBalancerArn=arn)["Listeners"]

    @cached_property
    def rules(self) -> list[dict[str, Any]]:
        """The rules of the one listener, in the order in which a request meets them; the default is the last."""
        (listener,) = self.listeners
        rules = self._client("elbv2").describe_rules(ListenerArn=listener["ListenerArn"])["Rules"]
        return sorted(rules, key=lambda rule: (rule["IsDefault"], 0 if rule["IsDefault"] else int(rule["Priority"])))

    def answer(self, method: str, path: str, **headers: str) -> str:
        """What becomes of a request at the load balancer: `forward`, or the status of a fixed answer."""
        rule = next(one for one in self.rules if all(_fits(part, method, path, headers) for part in one["Conditions"]))
        (action,) = rule["Actions"]
        if action["Type"] == "fixed-response":
            return str(action["FixedResponseConfig"]["StatusCode"])
        return str(action["Type"])

    @property
    def front(self) -> Place:
        zones = self.balancer["AvailabilityZones"]
        return Place(groups=tuple(self.balancer["SecurityGroups"]), subnet_id=zones[0]["SubnetId"])

    @property
    def task(self) -> Place:
        place = self.service["networkConfiguration"]["awsvpcConfiguration"]
        return Place(groups=tuple(place["securityGroups"]), subnet_id=place["subnets"][0])

    @property
    def host(self) -> Place:
        groups = [one for interface in self.launch["NetworkInterfaces"] for one in interface["Groups"]]
        return Place(groups=tuple(groups), subnet_id=self.hosts["VPCZoneIdentifier"].split(",")[0])


def _unit(text: str) -> configparser.ConfigParser:
    """A unit; of what is there twice the last counts."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def _attributes(answer: dict[str, Any]) -> dict[str, str]:
    return {one["Key"]: one["Value"] for one in answer["Attributes"]}


def _fits(condition: dict[str, Any], method: str, path: str, headers: dict[str, str]) -> bool:
    """Elastic Load Balancing's patterns: `*` is any text, `?` one character, and case counts in paths."""
    if condition["Field"] == "path-pattern":
        return any(fnmatch.fnmatchcase(path, one) for one in condition["PathPatternConfig"]["Values"])
    if condition["Field"] == "http-request-method":
        return method in condition["HttpRequestMethodConfig"]["Values"]
    assert condition["Field"] == "http-header", condition
    config = condition["HttpHeaderConfig"]
    given = headers.get(config["HttpHeaderName"].lower())
    return given is not None and any(fnmatch.fnmatch(given, one) for one in config["Values"])
