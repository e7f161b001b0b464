"""The example's inference service in a local emulation: refused without its model, deployed, read back, changed, gone.

One service lives once, in the fixture and in the tests that follow it in their order; the last ones change and destroy
it. Nothing boots and nothing serves here: that is in tests/contract and tests/lifecycle_scripts/inference_host.
"""

import json
import re
from collections.abc import Callable, Generator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from llm_fleet.cli.main import main
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from tests.deployment.every_verb import every_verb
from tests.deployment.inference_life import EXAMPLE, STACK, Life, begin_life
from tests.deployment.inference_on_aws import BUCKET, CLUSTER, PREFIX, SERVICE, InferenceOnAws
from tests.deployment.what_is_there import what_is_there

IMAGE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-pytorch-tgi-inference"
KEY = {"authorization": "Bearer key"}


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Generator[Life]:
    with LocalAws(region="us-west-2") as aws:
        yield begin_life(aws, tmp_path_factory.mktemp("inference"))


@pytest.fixture(scope="module")
def service(life: Life) -> InferenceOnAws:
    return life.on_aws


def test_a_model_that_is_not_there_stops_the_deployment_before_a_host_is_started(life: Life) -> None:
    stack = life.without_model.stacks[-1]
    assert (stack.name, stack.status) == (STACK, "ROLLBACK_COMPLETE")
    (reported,) = stack.failures
    assert f"s3://{BUCKET}/{PREFIX}" in reported
    assert "NoSuchBucket" in reported
    assert life.left_without_model["hosts ever"] == []


def test_a_refused_service_leaves_nothing_behind(life: Life) -> None:
    kinds = life.left_without_model
    mine = {kind: [one for one in names if "chat" in one.lower()] for kind, names in kinds.items()}
    assert {kind: names for kind, names in mine.items() if names} == {}
    for kind in ("clusters", "load balancers", "target groups", "groups of hosts", "launch templates", "functions"):
        assert kinds[kind] == life.before[kind], kind


def test_everything_is_emulated_by_a_service_and_nothing_only_recorded(life: Life) -> None:
    assert life.aws.recorded() == []
    notes = {note for stack in life.aws.stacks() for one in stack["resources"] for note in one["notes"]}
    assert "CreationPolicy: 1 signals count as received, because no instance boots here that could send them" in notes


def test_every_verb_answers_for_it(life: Life) -> None:
    """No task runs in the emulation, and no host: who asks one is reported."""
    said = every_verb(life.aws, EXAMPLE, life.assembly, "chat", life.folder)
    codes = {verb: one.code for verb, one in said.items()}
    assert codes == dict.fromkeys(codes, 0) | {"check": 1, "connect": 1}
    assert re.search(r"model s3://my-models/tanuki-8b +good +5 files", said["check"].out)
    assert "--quota-code L-1945791B --desired-value 8" in said["check"].out
    assert "2 instances, 8 vCPUs, 2 accelerators, 64 GiB of accelerator memory" in said["plan"].out
    assert "0 nodes" in said["nodes"].out
    assert "there are no nodes yet" in said["connect"].err
    assert "cdk deploy inference-chat" in said["upgrade"].out


def test_the_server_gets_the_devices_and_time_to_end(service: InferenceOnAws) -> None:
    server = service.container("server")
    (device,) = server["linuxParameters"]["devices"]
    assert (device["hostPath"], device["containerPath"]) == ("/dev/neuron0", "/dev/neuron0")
    environment = {one["name"]: one["value"] for one in server["environment"]}
    assert (environment["HF_NUM_CORES"], environment["MAX_BATCH_SIZE"]) == ("2", "4")
    assert server["stopTimeout"] > int(environment["GRACEFUL_TERMINATION_TIMEOUT"])
    assert server["logConfiguration"]["options"]["mode"] == "non-blocking"
    assert {one["name"]: one["softLimit"] for one in server["ulimits"]}["nofile"] == 65535


def test_the_model_is_checked_again_before_each_start(service: InferenceOnAws) -> None:
    server, check = service.container("server"), service.container("model-check")
    assert server["dependsOn"] == [{"containerName": "model-check", "condition": "SUCCESS"}]
    assert check["essential"] is False
    for container in (server, check):
        mounted = next(one for one in container["mountPoints"] if one["sourceVolume"] == "model")
        assert (mounted["containerPath"], mounted["readOnly"]) == ("/model", True)
    volumes = {one["name"]: one["host"]["sourcePath"] for one in service.task_definition["volumes"]}
    assert volumes["model"] == service.host_settings["mount"]["path"]


def test_the_hosts_driver_is_pinned_with_their_image(service: InferenceOnAws) -> None:
    launch = service.launch
    name = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron"
    release = f"{name}/al2023-ami-ecs-neuron-hvm-2023.0.20260701-kernel-6.1-x86_64/image_id"
    assert launch["ImageId"] == service.aws.client("ssm").get_parameter(Name=release)["Parameter"]["Value"]
    assert service.host_settings["driver"].startswith("2.2")
    assert tuple(map(int, service.host_settings["driver"].split(".")[:2])) < (2, 29)
    assert service.host_settings["devices"] == 1
    assert "ensure_driver, check_devices, mount_model, configure_agent" in service.host_files["boot.py"]
    assert len(service.user_data.encode()) <= 16384
    assert launch["MetadataOptions"]["HttpTokens"] == "required"
    (disk,) = launch["BlockDeviceMappings"]
    assert disk["Ebs"]["Encrypted"] is True
    assert (disk["Ebs"]["VolumeType"], disk["Ebs"]["VolumeSize"] >= 64) == ("gp3", True)


def test_the_model_is_mounted_and_the_host_checked_before_the_agent(service: InferenceOnAws) -> None:
    units = service.host_units
    agent = units["systemd/ecs.service.d/50-llm-fleet.conf"]["Unit"]
    assert (agent["Requires"], agent["After"]) == ("llm-fleet-host.service", "llm-fleet-host.service")
    for unit in ("llm-fleet-host", "llm-fleet-model"):
        assert units[f"systemd/{unit}.service"]["Unit"]["Before"] == "ecs.service"
    mount = units["systemd/llm-fleet-model.service"]["Service"]["ExecStart"]
    assert "/usr/bin/mount-s3 --read-only" in mount
    settings = service.host_settings
    assert (settings["mount"]["bucket"], settings["mount"]["prefix"].strip("/")) == (BUCKET, PREFIX)
    assert settings["cluster"] == CLUSTER
    lines = service.user_data.splitlines()
    installed = next(n for n, line in enumerate(lines) if "ecs.service.d" in line and line.startswith("install"))
    assert installed < lines.index("systemctl start llm-fleet-host.service")


def test_one_task_a_host_is_replaced_without_a_spare_host(service: InferenceOnAws) -> None:
    reported = service.service
    assert reported["placementConstraints"] == [{"type": "distinctInstance"}]
    deployment = reported["deploymentConfiguration"]
    assert deployment["deploymentCircuitBreaker"] == {"enable": True, "rollback": True}
    assert deployment["maximumPercent"] == 100
    assert deployment["minimumHealthyPercent"] < 100
    assert reported["healthCheckGracePeriodSeconds"] > 300
    assert reported["desiredCount"] == 2
    hosts = service.hosts
    assert hosts["provider"]["managedDraining"] == "ENABLED"
    assert hosts["provider"]["managedTerminationProtection"] == "DISABLED"
    assert not hosts["NewInstancesProtectedFromScaleIn"]
    assert len({one["AvailabilityZone"] for one in hosts["Instances"]}) == 2


def test_targets_are_tasks_and_streams_may_end(service: InferenceOnAws) -> None:
    group, attributes = service.target_group, service.target_attributes
    assert (group["TargetType"], group["Port"], group["HealthCheckPath"]) == ("ip", 8080, "/health")
    assert attributes["load_balancing.algorithm.type"] == "least_outstanding_requests"
    idle = int(service.balancer_attributes["idle_timeout.timeout_seconds"])
    assert int(attributes["deregistration_delay.timeout_seconds"]) >= idle >= 300
    (balancer,) = service.service["loadBalancers"]
    assert balancer["targetGroupArn"] == group["TargetGroupArn"]
    assert (balancer["containerName"], balancer["containerPort"]) == ("server", 8080)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/metrics", "/info", "/docs", "/openapi.json", "/invocations", "/generate", "/generate_stream"),
        *("/tokenize", "/pause", "/ping", "/v2/chat", "/health/x", "/healthz", "/v1", "/V1/chat/completions", "//v1/x"),
    ],
)
def test_nothing_else_is_reached_from_outside(service: InferenceOnAws, path: str) -> None:
    for method in ("GET", "POST"):
        assert service.answer(method, path, **KEY) == "404"


def test_the_interface_is_reached_with_a_key_only(service: InferenceOnAws) -> None:
    assert service.answer("POST", "/v1/chat/completions", **KEY) == "forward"
    assert service.answer("POST", "/v1/chat/completions") == "401"
    assert service.answer("POST", "/v1/chat/completions", authorization="Basic key") == "401"
    assert service.answer("GET", "/health") == "forward"
    assert service.answer("POST", "/health") == "404"
    forwarding = [one for one in service.rules if one["Actions"][-1]["Type"] == "forward"]
    paths = [
        part["PathPatternConfig"]["Values"]
        for one in forwarding
        for part in one["Conditions"]
        if part["Field"] == "path-pattern"
    ]
    assert paths == [["/health"], ["/v1/*"]]
    assert {one["Actions"][-1]["TargetGroupArn"] for one in forwarding} == {service.target_group["TargetGroupArn"]}


def test_only_the_front_reaches_the_tasks_and_only_the_allowed_reach_the_front(service: InferenceOnAws) -> None:
    ec2 = service.aws.client("ec2")
    reach = Reachability(ec2)
    assert reach.port(service.front, service.task, 8080) == []
    assert reach.port(service.front, service.task, 9000) != []
    assert reach.port(service.host, service.task, 8080) != []
    assert reach.port(service.task, service.host, 22) != []
    for place in (service.task, service.host):
        assert place.subnet_id is not None
        assert str(reach.default_route(place.subnet_id)).startswith("nat-")
        assert not reach.takes(place, Place(groups=()), 8080), "not open to the world"
    (group,) = ec2.describe_security_groups(GroupIds=list(service.front.groups))["SecurityGroups"]
    opened = [(one["FromPort"], [part["CidrIp"] for part in one["IpRanges"]]) for one in group["IpPermissions"]]
    assert opened == [(80, ["203.0.113.0/24"])]


def test_the_front_logs_and_is_guarded(service: InferenceOnAws) -> None:
    attributes = service.balancer_attributes
    assert attributes["access_logs.s3.enabled"] == "true"
    assert attributes["routing.http.drop_invalid_header_fields.enabled"] == "true"
    waf = service.aws.client("wafv2")
    acl = waf.get_web_acl_for_resource(ResourceArn=service.balancer["LoadBalancerArn"])["WebACL"]
    common = next(one for one in acl["Rules"] if one["Name"] == "AWSManagedRulesCommonRuleSet")
    overrides = common["Statement"]["ManagedRuleGroupStatement"]["RuleActionOverrides"]
    assert {"Name": "SizeRestrictions_BODY", "ActionToUse": {"Count": {}}} in overrides, "prompts are long"
    assert waf.get_logging_configuration(ResourceArn=acl["ARN"])["LoggingConfiguration"]["LogDestinationConfigs"]


def test_the_hosts_may_read_the_model_and_nothing_else(service: InferenceOnAws) -> None:
    s3 = service.aws.client("s3")
    s3.put_object(Bucket=BUCKET, Key="other-model/config.json", Body=b"{}")
    s3.create_bucket(Bucket="of-others", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="of-others", Key=f"{PREFIX}/config.json", Body=b"{}")
    role = service.host_role
    with service.aws.as_role(role) as client:
        hosts = client("s3")
        assert hosts.get_object(Bucket=BUCKET, Key=f"{PREFIX}/config.json")["Body"].read() == b"{}"
        assert hosts.list_objects_v2(Bucket=BUCKET, Prefix=f"{PREFIX}/")["KeyCount"] == 5
        refused(lambda: hosts.get_object(Bucket=BUCKET, Key="other-model/config.json"))
        refused(lambda: hosts.get_object(Bucket="of-others", Key=f"{PREFIX}/config.json"))
        refused(lambda: hosts.put_object(Bucket=BUCKET, Key=f"{PREFIX}/config.json", Body=b"x"))
        refused(lambda: hosts.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/config.json"))
        refused(lambda: hosts.list_objects_v2(Bucket="of-others"))
    listing = [one for one in service.statements_of(role) if "s3:ListBucket" in one["Action"]]
    (prefixes,) = [next(iter(one["Condition"].values()))["s3:prefix"] for one in listing]
    assert prefixes == [PREFIX, f"{PREFIX}/*"], "the emulation does not evaluate conditions: the policy text is checked"


def test_a_task_may_touch_no_bucket_and_read_no_secret(service: InferenceOnAws) -> None:
    role = service.task_definition["taskRoleArn"]
    with service.aws.as_role(role) as client:
        refused(lambda: client("s3").get_object(Bucket=BUCKET, Key=f"{PREFIX}/config.json"))
        refused(lambda: client("s3").list_objects_v2(Bucket=BUCKET))
    actions = [action for one in service.statements_of(role) for action in as_list(one["Action"])]
    assert not [one for one in actions if one.startswith(("s3:", "secretsmanager:", "kms:", "*"))]
    starting = service.statements_of(service.task_definition["executionRoleArn"])
    (secret,) = service.container("server")["secrets"]
    reading = [one["Resource"] for one in starting if "secretsmanager:GetSecretValue" in as_list(one["Action"])]
    assert reading == [secret["valueFrom"]]


def as_list(value: Any) -> list[str]:
    """One text or several."""
    return [value] if isinstance(value, str) else list(value)


def refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ClientError, match=r"Access ?Denied"):
        call()


def test_the_key_is_in_no_template_no_event_and_no_task_definition(life: Life, service: InferenceOnAws) -> None:
    (secret,) = service.container("server")["secrets"]
    assert secret["name"] == "API_KEY"
    key = life.aws.client("secretsmanager").get_secret_value(SecretId=secret["valueFrom"])["SecretString"]
    assert len(key) >= 32
    reported = [
        life.aws.client("cloudformation").get_template(StackName=STACK)["TemplateBody"],
        life.aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"],
        life.aws.events(STACK),
        service.task_definition,
        service.user_data,
        service.rules,
    ]
    assert key not in json.dumps(reported, default=str)


def test_what_is_watched(service: InferenceOnAws) -> None:
    client = service.aws.client("cloudwatch")
    alarms = client.describe_alarms()["MetricAlarms"]
    names = " ".join(one["AlarmName"] for one in alarms).lower()
    for wanted in ("queue", "timetofirsttoken", "servererrors", "unhealthyhosts", "neuron"):
        assert wanted in names.replace("-", ""), wanted
    (dashboard,) = client.list_dashboards()["DashboardEntries"]
    body = json.loads(client.get_dashboard(DashboardName=dashboard["DashboardName"])["DashboardBody"])
    assert SERVICE in json.dumps(body)
    filters = service.aws.client("logs").describe_metric_filters(logGroupName=f"/llm-fleet/inference/{SERVICE}")
    assert any("host-refused" in one["filterPattern"] for one in filters["metricFilters"])


def test_a_host_that_has_joined_is_listed_and_reached(
    life: Life, service: InferenceOnAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = service.hosts["Instances"][0]["InstanceId"]
    ecs = life.aws.client("ecs")
    # As its agent would, had it booted.
    document = json.dumps({"instanceId": host, "instanceType": "inf2.xlarge", "region": "us-west-2"})
    joined = ecs.register_container_instance(cluster=CLUSTER, instanceIdentityDocument=document)["containerInstance"]
    for name, value in life.aws.environment.items():
        monkeypatch.setenv(name, value)
    try:
        assert main(["nodes", "-f", str(EXAMPLE), "--json"]) == 0
        (node,) = json.loads(capsys.readouterr().out)["nodes"]
        assert (node["label"], node["instance_id"], node["status"]) == ("host-1", host, "ACTIVE")
        assert node["address"].count(".") == 3
        assert main(["connect", "host-1", "-f", str(EXAMPLE), "--print"]) == 0
        assert capsys.readouterr().out == f"aws ssm start-session --region us-west-2 --target {host}\n"
    finally:
        arn = joined["containerInstanceArn"]
        ecs.deregister_container_instance(cluster=CLUSTER, containerInstance=arn, force=True)


def test_a_second_deployment_changes_nothing(life: Life) -> None:
    again = life.aws.deploy(life.assembly)
    assert again.succeeded
    assert not again.changed, again


def test_another_image_changes_the_task_definition_and_the_service_and_has_the_model_checked_again(
    life: Life, service: InferenceOnAws
) -> None:
    before = service.service["taskDefinition"]
    image = f"{IMAGE}:2.7.0-optimum3.3.7-neuronx-py310-ubuntu22.04"
    server = f'server: {{kind: tgi, image: "{image}", runtime: "2.26.42.0"}}'
    stack, touched = life.deploy("image", "server: tgi", server)
    assert stack.succeeded, stack
    assert touched == {"ServiceTaskDefinition", "Service", "ServiceModelCheck"}
    assert service.container("server")["image"] == image
    assert service.service["taskDefinition"] != before


def test_a_batch_that_the_model_was_not_compiled_for_leaves_the_service_as_it_was(
    life: Life, service: InferenceOnAws
) -> None:
    before = service.service["taskDefinition"]
    stack, touched = life.deploy("batch", "server: tgi", "server: {kind: tgi, batch_size: 8}")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE", stack
    (reported,) = stack.failures
    assert "compiled for batches of 4, and the server requires 8" in reported
    assert "Service" not in touched
    assert service.service["taskDefinition"] == before


def test_a_maximum_lets_the_number_of_tasks_follow_their_requests(life: Life, service: InferenceOnAws) -> None:
    provider, hosts = service.service["capacityProviderStrategy"], service.hosts["AutoScalingGroupARN"]
    stack, _ = life.deploy("maximum", "count: 2 ", "max: 4 ")
    assert stack.succeeded, stack
    assert (service.service["capacityProviderStrategy"], service.hosts["AutoScalingGroupARN"]) == (provider, hosts)
    client = life.aws.client("application-autoscaling")
    (target,) = client.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
    assert target["ResourceId"] == f"service/{CLUSTER}/{SERVICE}"
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 4)
    policies = client.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"]
    assert {one["PolicyType"] for one in policies} == {"TargetTrackingScaling"}
    assert all(one["Alarms"] for one in policies)
    assert service.hosts["MaxSize"] >= 4


def test_destroy_leaves_only_what_is_retained(life: Life) -> None:
    gone = life.aws.destroy(life.assembly, unprotect=True)
    assert gone.succeeded, gone
    after = what_is_there(life.aws)
    left = {kind: sorted(set(names) - set(life.before[kind])) for kind, names in after.items()}
    theirs = {"buckets": {BUCKET, "of-others"}}  # what the tests brought
    kept = {kind: [one for one in names if one not in theirs.get(kind, ())] for kind, names in left.items()}
    # The service keeps the front's access logs and its web ACL's log; network and storage what every fleet's keep: flow
    # log, the bucket of access logs, and keys. (Hosts are informed of as terminated.)
    expected = {"buckets": 2, "log groups": 2, "keys": 2, "hosts ever": 2}
    found = {kind: names for kind, names in kept.items() if names}
    assert {kind: len(names) for kind, names in found.items()} == expected, found
