"""The task of a service, as ECS is told of it."""

import json
from typing import Any

import pytest

from llm_fleet import AwsVllmServer, Hosts, Model, TgiServer
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.spec.service import Capacity
from tests.inference.service.conftest import TOKEN_SECRET, MakeService, Served


def environment(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def secrets(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["ValueFrom"] for each in container.get("Secrets", [])}


def test_an_ec2_host_s_devices_are_listed_one_by_one(talk: Served, hub: Served):
    (device,) = talk.containers["server"]["LinuxParameters"]["Devices"]
    assert (device["HostPath"], device["ContainerPath"]) == ("/dev/neuron0", "/dev/neuron0")
    paths = [each["HostPath"] for each in hub.containers["server"]["LinuxParameters"]["Devices"]]
    assert paths == [f"/dev/neuron{n}" for n in range(6)]
    assert "ResourceRequirements" not in talk.containers["server"]
    assert "ResourceRequirements" not in hub.containers["server"]


def test_a_managed_instance_s_devices_are_a_resource_and_never_a_list(managed: Served):
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
def test_containers_share_what_the_host_can_spare(which: str, request: pytest.FixtureRequest):
    served: Served = request.getfixturevalue(which)
    memory = sum(each["Memory"] for each in served.containers.values())
    assert memory == int(served.task["Memory"])
    assert served.containers["server"]["Memory"] > 0.95 * memory
    assert sum(each.get("Cpu", 0) for each in served.containers.values()) > 0


def test_a_task_is_sized_to_its_host(talk: Served):
    instance = neuron_instance("inf2.xlarge")
    assert instance is not None
    assert int(talk.task["Memory"]) == task_memory_mib(instance) < instance.host_memory_gib * 1024


def test_the_model_is_seen_read_only_and_checked_first(talk: Served):
    server, check = talk.containers["server"], talk.containers["model-check"]
    (model,) = [volume for volume in talk.task["Volumes"] if volume["Name"] == "model"]
    assert model["Host"] == {"SourcePath": "/mnt/llm-fleet/model"}
    mounts = {each["SourceVolume"]: each for each in server["MountPoints"]}
    assert mounts["model"] == {"SourceVolume": "model", "ContainerPath": "/model", "ReadOnly": True}
    assert mounts["cache"]["ReadOnly"] is False
    assert check["MountPoints"] == [mounts["model"]]
    assert server["DependsOn"] == [{"ContainerName": "model-check", "Condition": "SUCCESS"}]
    assert (check["Essential"], server["Essential"]) == (False, True)
    assert json.loads(environment(check)["LLM_FLEET_MODEL_ASKED"])["tensor_parallel"] == 2
    assert environment(server)["MODEL_ID"] == "/model"


def test_a_model_of_the_hub_has_no_mount_and_no_check(hub: Served):
    assert set(hub.containers) == {"server", "collector"}
    assert "DependsOn" not in hub.containers["server"]
    assert [volume["Name"] for volume in hub.task["Volumes"]] == ["cache"]


def test_the_cache_stays_on_a_host_of_ours_and_names_no_path_elsewhere(talk: Served, managed: Served):
    cache = {volume["Name"]: volume for volume in talk.task["Volumes"]}["cache"]
    assert cache["Host"] == {"SourcePath": "/var/lib/llm-fleet/cache"}
    (volume,) = managed.task["Volumes"]
    assert volume["Host"] == {}
    (mount,) = managed.containers["server"]["MountPoints"]
    assert environment(managed.containers["server"])["HF_HOME"].startswith(mount["ContainerPath"])


def test_secrets_come_by_reference_and_never_in_the_environment(talk: Served, hub: Served, managed: Served):
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


def test_a_server_gets_the_time_it_takes_to_end(talk: Served, managed: Served, make: MakeService):
    server = talk.containers["server"]
    assert server["StopTimeout"] == int(environment(server)["GRACEFUL_TERMINATION_TIMEOUT"]) + 10
    assert managed.containers["server"]["StopTimeout"] == 90 + 10
    long = TgiServer(tensor_parallel=2, batch_size=4, sequence_length=4096, graceful_termination_seconds=86390)
    model = Model(hub_id="meta-llama/Llama-3.1-8B-Instruct")
    served = Served(
        make(server=long, model=model, instance_type="inf2.24xlarge", hosts=Hosts(capacity=Capacity.MANAGED_INSTANCES))
    )
    assert served.containers["server"]["StopTimeout"] == 86400, "a day, the most that Managed Instances take"


def test_limits_and_first_process(talk: Served):
    server = talk.containers["server"]
    limits = {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in server["Ulimits"]}
    assert limits == {"nofile": (65535, 65535), "memlock": (-1, -1)}
    assert server["LinuxParameters"]["InitProcessEnabled"] is True
    assert server["LinuxParameters"]["SharedMemorySize"] == 1024
    assert "Privileged" not in server


@pytest.mark.parametrize("capacity", Capacity)
def test_capabilities_are_added_where_they_are_asked_for(capacity: Capacity, make: MakeService, talk: Served):
    assert "Capabilities" not in talk.containers["server"]["LinuxParameters"]
    server = AwsVllmServer(capabilities=("IPC_LOCK", "SYS_ADMIN"))
    model = Model(hub_id="meta-llama/Llama-3.1-8B-Instruct")
    served = Served(make(server=server, model=model, instance_type="inf2.24xlarge", hosts=Hosts(capacity=capacity)))
    assert served.containers["server"]["LinuxParameters"]["Capabilities"] == {"Add": ["IPC_LOCK", "SYS_ADMIN"]}


def test_managed_instances_take_no_size_of_shared_memory(managed: Served):
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


def test_log_group_is_kept_for_as_long_as_asked_and_goes_with_the_stack(talk: Served, hub: Served):
    group = talk.only("AWS::Logs::LogGroup", "ChatLogs")
    assert group["Properties"]["LogGroupName"] == "/llm-fleet/inference/chat"
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == "Delete"
    keyed = hub.only("AWS::Logs::LogGroup", "ChatLogs")["Properties"]
    assert keyed["RetentionInDays"] == 90
    assert "KmsKeyId" in keyed
    assert "KmsKeyId" not in group["Properties"]
