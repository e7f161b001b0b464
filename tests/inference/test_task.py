"""The task of a service, its roles, and their permissions."""

import json
from typing import Any

import pytest

from llm_fleet import AwsVllmServer, Hosts, Model, TgiServer
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.inference.cluster import execution_permissions, shell_permissions
from llm_fleet.spec.service import Capacity
from tests.inference.services import TOKEN_SECRET, MakeService, Served


def environment(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def secrets(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["ValueFrom"] for each in container.get("Secrets", [])}


def test_devices_of_an_ec2_host_are_listed(talk: Served, hub: Served):
    (device,) = talk.containers["server"]["LinuxParameters"]["Devices"]
    assert (device["HostPath"], device["ContainerPath"]) == ("/dev/neuron0", "/dev/neuron0")
    paths = [each["HostPath"] for each in hub.containers["server"]["LinuxParameters"]["Devices"]]
    assert paths == [f"/dev/neuron{n}" for n in range(6)]
    assert "ResourceRequirements" not in talk.containers["server"]
    assert "ResourceRequirements" not in hub.containers["server"]


def test_devices_of_a_managed_instance_are_a_resource_requirement(managed: Served):
    server = managed.containers["server"]
    assert server["ResourceRequirements"] == [{"Type": "NeuronDevice", "Value": "ALL"}]
    assert "Devices" not in server["LinuxParameters"]


def test_compatibility_and_size(talk: Served, managed: Served):
    assert (talk.task["RequiresCompatibilities"], talk.task["NetworkMode"]) == (["EC2"], "awsvpc")
    assert "Cpu" not in talk.task
    assert "RuntimePlatform" not in talk.task
    assert (managed.task["RequiresCompatibilities"], managed.task["NetworkMode"]) == (["MANAGED_INSTANCES"], "awsvpc")
    assert managed.task["RuntimePlatform"] == {"CpuArchitecture": "X86_64", "OperatingSystemFamily": "LINUX"}
    assert int(managed.task["Cpu"]) < 96 * 1024


@pytest.mark.parametrize("which", ["talk", "hub", "managed"])
def test_containers_share_the_memory_of_the_task(which: str, request: pytest.FixtureRequest):
    served: Served = request.getfixturevalue(which)
    memory = sum(each["Memory"] for each in served.containers.values())
    assert memory == int(served.task["Memory"])
    assert served.containers["server"]["Memory"] > 0.95 * memory
    assert sum(each.get("Cpu", 0) for each in served.containers.values()) > 0


def test_a_task_is_sized_to_its_host(talk: Served):
    instance = neuron_instance("inf2.xlarge")
    assert instance is not None
    assert int(talk.task["Memory"]) == task_memory_mib(instance) < instance.host_memory_gib * 1024


def test_the_model_is_mounted_read_only_and_checked_first(talk: Served):
    server, check = talk.containers["server"], talk.containers["model-check"]
    (model,) = [volume for volume in talk.task["Volumes"] if volume["Name"] == "model"]
    assert model["Host"] == {"SourcePath": "/mnt/llm-fleet/model"}
    mounts = {each["SourceVolume"]: each for each in server["MountPoints"]}
    assert mounts["model"] == {"SourceVolume": "model", "ContainerPath": "/model", "ReadOnly": True}
    assert mounts["cache"]["ReadOnly"] is False
    assert check["MountPoints"] == [mounts["model"]]
    assert server["DependsOn"] == [{"ContainerName": "model-check", "Condition": "SUCCESS"}]
    assert (check["Essential"], server["Essential"]) == (False, True)
    assert json.loads(environment(check)["LLM_FLEET_MODEL_REQUESTED"])["tensor_parallel"] == 2
    assert environment(server)["MODEL_ID"] == "/model"


def test_a_model_of_the_hub_has_no_mount_and_no_check(hub: Served):
    assert set(hub.containers) == {"server", "collector"}
    assert "DependsOn" not in hub.containers["server"]
    assert [volume["Name"] for volume in hub.task["Volumes"]] == ["cache"]


def test_the_cache_has_a_path_only_on_an_ec2_host(talk: Served, managed: Served):
    cache = {volume["Name"]: volume for volume in talk.task["Volumes"]}["cache"]
    assert cache["Host"] == {"SourcePath": "/var/lib/llm-fleet/cache"}
    (volume,) = managed.task["Volumes"]
    assert volume["Host"] == {}
    (mount,) = managed.containers["server"]["MountPoints"]
    assert environment(managed.containers["server"])["HF_HOME"].startswith(mount["ContainerPath"])


def test_secrets_are_references_and_not_environment_variables(talk: Served, hub: Served, managed: Served):
    (key,) = talk.of_type("AWS::SecretsManager::Secret")
    assert secrets(talk.containers["server"]) == {"API_KEY": {"Ref": key}}
    (key,) = hub.of_type("AWS::SecretsManager::Secret")
    assert secrets(hub.containers["server"]) == {"VLLM_API_KEY": {"Ref": key}, "HF_TOKEN": TOKEN_SECRET}
    assert secrets(managed.containers["server"]) == {}
    for served in (talk, hub, managed):
        for container in served.containers.values():
            names = environment(container)
            assert not {"API_KEY", "VLLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} & set(names)
            assert "secretsmanager" not in json.dumps([names, container.get("Command"), container.get("EntryPoint")])


def test_a_server_has_enough_time_to_stop(talk: Served, managed: Served, make: MakeService):
    server = talk.containers["server"]
    assert server["StopTimeout"] == int(environment(server)["GRACEFUL_TERMINATION_TIMEOUT"]) + 10
    assert managed.containers["server"]["StopTimeout"] == 90 + 10
    long = TgiServer(tensor_parallel=2, batch_size=4, sequence_length=4096, graceful_termination_seconds=86390)
    model = Model(hub_id="meta-llama/Llama-3.1-8B-Instruct")
    served = Served(
        make(server=long, model=model, instance_type="inf2.24xlarge", hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES))
    )
    assert served.containers["server"]["StopTimeout"] == 86400, "a day, the most that Managed Instances take"


def test_limits_and_the_init_process(talk: Served):
    server = talk.containers["server"]
    limits = {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in server["Ulimits"]}
    assert limits == {"nofile": (65535, 65535), "memlock": (-1, -1)}
    assert server["LinuxParameters"]["InitProcessEnabled"] is True
    assert server["LinuxParameters"]["SharedMemorySize"] == 1024
    assert "Privileged" not in server


@pytest.mark.parametrize("capacity", Capacity)
def test_requested_capabilities_are_added(capacity: Capacity, make: MakeService, talk: Served):
    assert "Capabilities" not in talk.containers["server"]["LinuxParameters"]
    server = AwsVllmServer(capabilities=("IPC_LOCK", "SYS_ADMIN"))
    model = Model(hub_id="meta-llama/Llama-3.1-8B-Instruct")
    served = Served(make(server=server, model=model, instance_type="inf2.24xlarge", hosts=Hosts(capacity=capacity)))
    assert served.containers["server"]["LinuxParameters"]["Capabilities"] == {"Add": ["IPC_LOCK", "SYS_ADMIN"]}


def test_managed_instances_have_no_size_of_shared_memory(managed: Served):
    """ECS developer guide, task definition differences for Managed Instances: sharedMemorySize is not valid."""
    for container in managed.containers.values():
        assert "SharedMemorySize" not in container.get("LinuxParameters", {})


def test_every_container_logs_without_blocking_into_the_service_s_group(talk: Served):
    (group,) = [name for name in talk.of_type("AWS::Logs::LogGroup") if name.startswith("ChatLogs")]
    for container in talk.containers.values():
        options = container["LogConfiguration"]["Options"]
        assert container["LogConfiguration"]["LogDriver"] == "awslogs"
        assert (options["awslogs-group"], options["mode"]) == ({"Ref": group}, "non-blocking")
        assert options["max-buffer-size"] == "10m"
        assert "awslogs-create-group" not in options


def test_the_log_group_has_the_given_retention_and_is_deleted_with_the_stack(talk: Served, hub: Served):
    group = talk.only("AWS::Logs::LogGroup", "ChatLogs")
    assert group["Properties"]["LogGroupName"] == "/llm-fleet/inference/chat"
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == "Delete"
    keyed = hub.only("AWS::Logs::LogGroup", "ChatLogs")["Properties"]
    assert keyed["RetentionInDays"] == 90
    assert "KmsKeyId" in keyed
    assert "KmsKeyId" not in group["Properties"]


DLC = "repository/huggingface-pytorch-tgi-inference"


def text(value: Any) -> str:
    return json.dumps(value)


def test_only_hosts_and_the_model_check_can_read_the_model(talk: Served):
    on_s3 = {
        name: [
            each for each in body["Properties"]["PolicyDocument"]["Statement"] if "my-models" in text(each["Resource"])
        ]
        for name, body in talk.of_type("AWS::IAM::ManagedPolicy").items()
    }
    readers = {name: statements for name, statements in on_s3.items() if statements}
    assert sorted(name.split("Policy")[0] for name in readers) == ["ChatCapacityRole", "LlmFleetModelChecker"]
    for statements in readers.values():
        (objects,) = [each for each in statements if "s3:GetObject" in text(each["Action"])]
        assert text(objects["Resource"]).endswith('arn:aws:s3:::my-models/tanuki-8b/*"')
        for each in statements:
            assert not any(word in text(each["Action"]) for word in ("Put", "Delete", "*"))


def test_a_task_can_only_write_its_metrics(talk: Served):
    (statement,) = talk.statements("TaskRole").values()
    assert statement["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert "log-stream:" in text(statement["Resource"])


def test_ecs_can_pull_one_repository_write_one_log_and_read_one_secret(talk: Served):
    statements = talk.statements("ExecutionRole")
    assert set(statements) == {"ImageRegistry", "Images", "Log", "Secrets"}
    assert statements["Images"]["Resource"] == f"arn:aws:ecr:us-west-2:763104351884:{DLC}"
    assert statements["ImageRegistry"] == {
        "Action": "ecr:GetAuthorizationToken",
        "Effect": "Allow",
        "Resource": "*",
        "Sid": "ImageRegistry",
    }
    (key,) = talk.of_type("AWS::SecretsManager::Secret")
    assert statements["Secrets"]["Resource"] == {"Ref": key}
    (group,) = [name for name in talk.of_type("AWS::Logs::LogGroup") if name.startswith("ChatLogs")]
    assert statements["Log"]["Resource"] == {"Fn::GetAtt": [group, "Arn"]}


def test_ecs_can_read_the_token_of_the_hub_and_use_a_custom_key(hub: Served):
    statements = hub.statements("ExecutionRole")
    assert TOKEN_SECRET in statements["Secrets"]["Resource"]
    assert statements["SecretKeys"]["Action"] == "kms:Decrypt"
    (key,) = [name for name in hub.of_type("AWS::KMS::Key") if name.startswith("Key")]
    assert statements["SecretKeys"]["Resource"] == {"Fn::GetAtt": [key, "Arn"]}


def test_shells_are_off_by_default(talk: Served, hub: Served):
    assert set(hub.statements("TaskRole")) == {"WriteMetrics", "Shell", "ShellGroups", "ShellRecord"}
    assert (talk.service["Properties"]["EnableExecuteCommand"], hub.service["Properties"]["EnableExecuteCommand"]) == (
        False,
        True,
    )
    assert "Configuration" not in talk.only("AWS::ECS::Cluster")["Properties"]
    shells = hub.only("AWS::ECS::Cluster")["Properties"]["Configuration"]["ExecuteCommandConfiguration"]
    assert shells["Logging"] == "OVERRIDE"
    assert shells["LogConfiguration"]["CloudWatchEncryptionEnabled"] is True


@pytest.mark.parametrize("role", ["TaskRole", "ExecutionRole"])
def test_only_tasks_of_this_account_can_assume_the_roles(talk: Served, role: str):
    trust = talk.only("AWS::IAM::Role", f"Task{role}")["Properties"]["AssumeRolePolicyDocument"]
    (statement,) = trust["Statement"]
    assert statement["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
    assert ":ecs:us-west-2:111122223333:*" in text(statement["Condition"]["ArnLike"])


def test_each_statement_has_a_reason(talk: Served, hub: Served):
    for served in (talk, hub):
        for permissions in served.construct.task.permissions.values():
            assert permissions
            assert all(each.reason for each in permissions)


LOG = "arn:aws:logs:us-west-2:111122223333:log-group:/llm-fleet/inference/chat:*"
REPOSITORY = "arn:aws:ecr:us-west-2:763104351884:repository/tgi"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:key-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234"


def test_without_repository_and_secret_only_the_log_is_allowed():
    (log,) = execution_permissions(repositories=[], log_group_arn=LOG, secret_arns=[], key_arns=[KEY])
    assert (log.actions, log.resources) == (("logs:CreateLogStream", "logs:PutLogEvents"), (LOG,))


def test_each_statement_has_its_resources_and_reason():
    permissions = execution_permissions(
        repositories=[REPOSITORY, REPOSITORY], log_group_arn=LOG, secret_arns=[SECRET, SECRET], key_arns=[KEY]
    )
    resources = {each.sid: each.resources for each in permissions}
    assert resources == {
        "ImageRegistry": ("*",),
        "Images": (REPOSITORY,),
        "Log": (LOG,),
        "Secrets": (SECRET,),
        "SecretKeys": (KEY,),
    }
    assert all(each.reason and not each.reason.endswith(".") for each in permissions)
    assert not any("*" in action for each in permissions for action in each.actions)


def test_the_record_of_a_shell_is_written_only_to_the_log_of_the_service():
    assert {each.sid: each.resources for each in shell_permissions(log_group_arn=LOG)}["ShellRecord"] == (LOG,)
