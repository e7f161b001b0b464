"""Our check of a configuration and ParallelCluster's schema: both reject and accept the same configurations."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet.catalog.parallelcluster import SECTION, parallelcluster_schema, places_of, schema_at
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_configuration, check_section
from llm_fleet_local.parallelcluster.client import Oracle

SUBNET = "subnet-0123456789abcdef0"
GOOD: dict[str, Any] = {
    "Region": "us-west-2",
    "Image": {"Os": "alinux2023"},
    "HeadNode": {
        "InstanceType": "m5.2xlarge",
        "Networking": {"SubnetId": SUBNET, "AdditionalSecurityGroups": ["sg-0123456789abcdef0"]},
        "CustomActions": {"OnNodeConfigured": {"Sequence": [{"Script": "s3://bucket/a.sh", "Args": ["x"]}]}},
        "Iam": {"AdditionalIamPolicies": [{"Policy": "arn:aws:iam::111122223333:policy/parallelcluster-a"}]},
    },
    "Scheduling": {
        "Scheduler": "slurm",
        "SlurmSettings": {"ScaledownIdletime": 10, "CustomSlurmSettings": [{"MaxJobCount": 5000}]},
        "SlurmQueues": [
            {
                "Name": "work",
                "ComputeResources": [{"Name": "nodes", "InstanceType": "c5.4xlarge", "MaxCount": 4}],
                "Networking": {"SubnetIds": [SUBNET]},
            }
        ],
    },
    "SharedStorage": [
        {"Name": "fsx", "MountDir": "/fsx", "StorageType": "FsxLustre", "FsxLustreSettings": {"StorageCapacity": 1200}},
        {"Name": "efs", "MountDir": "/efs", "StorageType": "Efs", "EfsSettings": {"Encrypted": True}},
    ],
    "Tags": [{"Key": "Project", "Value": "llama"}],
}
WORK = "Scheduling.SlurmQueues.work"
NODES = f"{WORK}.ComputeResources.nodes"
FILE_SYSTEM = "fs-0123456789abcdef0"

Change = Callable[[Any], Any]


def queue(configuration: dict[str, Any]) -> dict[str, Any]:
    return configuration["Scheduling"]["SlurmQueues"][0]


def nodes(configuration: dict[str, Any]) -> dict[str, Any]:
    return queue(configuration)["ComputeResources"][0]


def fsx(configuration: dict[str, Any]) -> dict[str, Any]:
    return configuration["SharedStorage"][0]["FsxLustreSettings"]


def efs(configuration: dict[str, Any]) -> dict[str, Any]:
    return configuration["SharedStorage"][1]["EfsSettings"]


REJECTED: dict[str, tuple[Change, Code, str]] = {
    "misspelled": (
        lambda c: queue(c).update(JobExclusiveAlocation=True),
        Code.PC_KEY_UNKNOWN,
        WORK + ".JobExclusiveAlocation",
    ),
    "misplaced": (lambda c: queue(c).update(Efa={"Enabled": True}), Code.PC_KEY_UNKNOWN, WORK + ".Efa"),
    "login key pair": (
        lambda c: c.update(
            LoginNodes={
                "Pools": [
                    {
                        "Name": "users",
                        "InstanceType": "m5.large",
                        "Count": 1,
                        "Networking": {"SubnetIds": [SUBNET]},
                        "Ssh": {"KeyName": "key"},
                    }
                ]
            }
        ),
        Code.PC_KEY_UNKNOWN,
        "LoginNodes.Pools.users.Ssh.KeyName",
    ),
    "not a section": (lambda c: c.update(HeadNode="m5.2xlarge"), Code.PC_KEY_TYPE, "HeadNode"),
    "not a list": (lambda c: c.update(Tags={"Key": "a", "Value": "b"}), Code.PC_KEY_TYPE, "Tags"),
    "not a list of texts": (
        lambda c: queue(c).update(Networking={"SubnetIds": SUBNET}),
        Code.PC_KEY_TYPE,
        WORK + ".Networking.SubnetIds",
    ),
    "not an item": (lambda c: c.update(Tags=["a"]), Code.PC_KEY_TYPE, "Tags[0]"),
    "nothing": (lambda c: nodes(c).update(MaxCount=None), Code.PC_KEY_TYPE, NODES + ".MaxCount"),
    "not a number": (lambda c: nodes(c).update(MaxCount="many"), Code.PC_KEY_TYPE, NODES + ".MaxCount"),
    "not a price": (lambda c: nodes(c).update(SpotPrice="cheap"), Code.PC_KEY_TYPE, NODES + ".SpotPrice"),
    "not a boolean": (
        lambda c: efs(c).update(Encrypted="maybe"),
        Code.PC_KEY_TYPE,
        "SharedStorage.efs.EfsSettings.Encrypted",
    ),
    "not text": (lambda c: c["HeadNode"].update(InstanceType=5), Code.PC_KEY_TYPE, "HeadNode.InstanceType"),
    "not a mapping": (
        lambda c: queue(c).update(CustomSlurmSettings="a"),
        Code.PC_KEY_TYPE,
        WORK + ".CustomSlurmSettings",
    ),
    "an unknown system": (lambda c: c.update(Image={"Os": "alinux2"}), Code.PC_KEY_VALUE, "Image.Os"),
    "an unknown number": (
        lambda c: c.update(Monitoring={"Logs": {"CloudWatch": {"RetentionInDays": 6}}}),
        Code.PC_KEY_VALUE,
        "Monitoring.Logs.CloudWatch.RetentionInDays",
    ),
    "too small": (lambda c: nodes(c).update(MaxCount=0), Code.PC_KEY_VALUE, NODES + ".MaxCount"),
    "not an id": (
        lambda c: c["HeadNode"]["Networking"].update(SubnetId="subnet-1"),
        Code.PC_KEY_VALUE,
        "HeadNode.Networking.SubnetId",
    ),
    "too long": (lambda c: c["Tags"][0].update(Key="a" * 129), Code.PC_KEY_VALUE, f"Tags.{'a' * 129}.Key"),
    "too few": (
        lambda c: queue(c).update(Networking={"SubnetIds": []}),
        Code.PC_KEY_VALUE,
        WORK + ".Networking.SubnetIds",
    ),
    "missing": (lambda c: c["HeadNode"].pop("Networking"), Code.PC_KEY_MISSING, "HeadNode.Networking"),
    "no required key": (lambda c: c.clear(), Code.PC_KEY_MISSING, "Image"),
    "no instances": (lambda c: nodes(c).pop("InstanceType"), Code.PC_KEY_MISSING, NODES),
    "no script": (
        lambda c: c["HeadNode"].update(CustomActions={"OnNodeStart": {"Args": []}}),
        Code.PC_KEY_MISSING,
        "HeadNode.CustomActions.OnNodeStart",
    ),
    "no reservation": (
        lambda c: queue(c).update(CapacityReservationTarget={}),
        Code.PC_KEY_MISSING,
        WORK + ".CapacityReservationTarget",
    ),
    "script and sequence": (
        lambda c: c["HeadNode"]["CustomActions"]["OnNodeConfigured"].update(Script="s3://bucket/b.sh"),
        Code.PC_KEYS_TOGETHER,
        "HeadNode.CustomActions.OnNodeConfigured",
    ),
    "two kinds of groups": (
        lambda c: c["HeadNode"]["Networking"].update(SecurityGroups=["sg-0123456789abcdef1"]),
        Code.PC_KEYS_TOGETHER,
        "HeadNode.Networking",
    ),
    "role and policies": (
        lambda c: c["HeadNode"]["Iam"].update(InstanceRole="arn:aws:iam::111122223333:role/mine"),
        Code.PC_KEYS_TOGETHER,
        "HeadNode.Iam",
    ),
    "role and buckets": (
        lambda c: queue(c).update(
            Iam={"InstanceRole": "arn:aws:iam::111122223333:role/mine", "S3Access": [{"BucketName": "data"}]}
        ),
        Code.PC_KEYS_TOGETHER,
        WORK + ".Iam",
    ),
    "type and types": (
        lambda c: nodes(c).update(Instances=[{"InstanceType": "c5.4xlarge"}]),
        Code.PC_KEYS_TOGETHER,
        NODES,
    ),
    "two reservations": (
        lambda c: queue(c).update(
            CapacityReservationTarget={
                "CapacityReservationId": "cr-0123456789abcdef0",
                "CapacityReservationResourceGroupArn": "arn:aws:a",
            }
        ),
        Code.PC_KEYS_TOGETHER,
        WORK + ".CapacityReservationTarget",
    ),
    "existing Lustre with a size": (
        lambda c: fsx(c).update(FileSystemId=FILE_SYSTEM),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.fsx.FsxLustreSettings.StorageCapacity",
    ),
    "existing EFS with encryption": (
        lambda c: efs(c).update(FileSystemId=FILE_SYSTEM),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.efs.EfsSettings.Encrypted",
    ),
    "backup with a size": (
        lambda c: fsx(c).update(BackupId="backup-0123456789abcdef0"),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.fsx.FsxLustreSettings.StorageCapacity",
    ),
    "throughput without its mode": (
        lambda c: efs(c).update(ProvisionedThroughput=10),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.efs.EfsSettings.ThroughputMode",
    ),
    "mode without its throughput": (
        lambda c: efs(c).update(ThroughputMode="provisioned"),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.efs.EfsSettings.ThroughputMode",
    ),
    "settings of another kind": (
        lambda c: c["SharedStorage"][0].update(StorageType="Efs"),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.fsx.FsxLustreSettings",
    ),
    "settings of two kinds": (
        lambda c: c["SharedStorage"][1].update(EbsSettings={"Size": 10}),
        Code.PC_KEYS_TOGETHER,
        "SharedStorage.efs",
    ),
}
ACCEPTED: dict[str, Change] = {
    "unchanged": lambda c: c,
    "numbers as texts": lambda c: nodes(c).update(MaxCount="4", SpotPrice="1.5"),
    "whole number with a point": lambda c: nodes(c).update(MaxCount=4.0),
    "boolean as text": lambda c: (efs(c).update(Encrypted="true"), queue(c).update(JobExclusiveAllocation="no")),
    "boolean as number": lambda c: queue(c).update(JobExclusiveAllocation=1),
    "elastic address by id": lambda c: c["HeadNode"]["Networking"].update(ElasticIp="eipalloc-0123456789abcdef0"),
    "elastic address": lambda c: c["HeadNode"]["Networking"].update(ElasticIp=True),
    "reservation instead of a type": lambda c: (
        nodes(c).pop("InstanceType"),
        nodes(c).update(CapacityReservationTarget={"CapacityReservationId": "cr-0123456789abcdef0"}),
    ),
    "several types": lambda c: (
        nodes(c).pop("InstanceType"),
        nodes(c).update(Instances=[{"InstanceType": "c5.4xlarge"}, {"InstanceType": "c5d.4xlarge"}]),
    ),
    "existing EFS with encryption in transit": lambda c: c["SharedStorage"][1].update(
        EfsSettings={"FileSystemId": FILE_SYSTEM, "EncryptionInTransit": True, "IamAuthorization": True}
    ),
    "throughput with its mode": lambda c: efs(c).update(ThroughputMode="provisioned", ProvisionedThroughput=10),
    "empty section next to another": lambda c: c["HeadNode"]["Networking"].update(SecurityGroups=[]),
    "one script": lambda c: c["HeadNode"].update(CustomActions={"OnNodeStart": {"Script": "s3://bucket/a.sh"}}),
    "free map": lambda c: queue(c).update(CustomSlurmSettings={"GraceTime": 60, "Anything": "goes"}),
}


def changed(change: Change) -> dict[str, Any]:
    configuration = deepcopy(GOOD)
    change(configuration)
    return configuration


@pytest.mark.parametrize("name", REJECTED)
def test_parallelcluster_rejects_the_same_configurations(name: str, oracle: Oracle) -> None:
    change, code, where = REJECTED[name]
    configuration = changed(change)
    reported = [(problem.code, problem.where) for problem in check_configuration(configuration)]
    assert (code, where) in reported
    assert oracle.schema(configuration) != []


@pytest.mark.parametrize("name", ACCEPTED)
def test_parallelcluster_accepts_the_same_configurations(name: str, oracle: Oracle) -> None:
    configuration = changed(ACCEPTED[name])
    assert [str(problem) for problem in check_configuration(configuration)] == []
    assert oracle.schema(configuration) == []


def test_all_problems_are_reported_together() -> None:
    configuration = changed(
        lambda c: [change(c) for name in ("misspelled", "not a boolean", "not an id") for change in REJECTED[name][:1]]
    )
    assert {problem.code for problem in check_configuration(configuration)} == {
        Code.PC_KEY_UNKNOWN, Code.PC_KEY_TYPE, Code.PC_KEY_VALUE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("misspelled", "write `JobExclusiveAllocation`"),
        ("misplaced", "move it: it belongs below Scheduling/SlurmQueues/ComputeResources"),
        (
            "login key pair",
            "move it: it belongs below HeadNode/Ssh or HeadNode/Iam/S3Access or Scheduling/SlurmQueues/Iam/S3Access",
        ),
        ("an unknown system", "write `alinux2023`"),
        ("existing Lustre with a size", "remove StorageCapacity, or FileSystemId"),
        ("script and sequence", "keep Script or Sequence"),
    ],
)  # fmt: skip
def test_the_remedy_has_a_suggestion(name: str, remedy: str) -> None:
    change, code, _ = REJECTED[name]
    (problem,) = check_configuration(changed(change))
    assert (problem.code, problem.remedy) == (code, remedy)


def test_a_key_in_the_wrong_case_and_an_unknown_key() -> None:
    wrong_case, nowhere = check_section({"allowedips": "10.0.0.0/8", "Qwertyuiop": 1}, "HeadNode/Ssh")
    assert (wrong_case.remedy, wrong_case.allowed) == ("write `AllowedIps`", "KeyName, AllowedIps")
    assert nowhere.remedy == "remove it, or write one of the allowed keys"


def test_cdk_tokens_pass() -> None:
    stack = cdk.Stack()
    text = cdk.CfnParameter(stack, "Text")
    numbers = cdk.CfnParameter(stack, "Number", type="Number")
    texts = cdk.CfnParameter(stack, "Texts", type="List<AWS::EC2::Subnet::Id>")
    configuration = changed(
        lambda c: (
            c["HeadNode"]["Networking"].update(SubnetId=text.value_as_string),
            nodes(c).update(MaxCount=numbers.value_as_number, Efa=cdk.Fn.ref("Text")),
            queue(c)["Networking"].update(SubnetIds=texts.value_as_list),
            efs(c).update(Encrypted=cdk.Fn.condition_if("A", True, False)),
            fsx(c).update(StorageCapacity=numbers.value_as_number),
            c["Tags"][0].update(Key=text.value_as_string),
        )
    )
    assert check_configuration(configuration) == []
    assert check_configuration(stack.resolve(configuration)) == []


def test_a_partial_section_has_no_missing_keys() -> None:
    assert [problem.where for problem in check_section({}, "SharedStorage[]")] == ["MountDir", "Name", "StorageType"]
    assert check_section({}, "SharedStorage[]", partial=True) == []
    inner: dict[str, Any] = {"FsxOpenZfsSettings": {}}
    assert [problem.where for problem in check_section(inner, "SharedStorage[]", partial=True)] == [
        "FsxOpenZfsSettings.VolumeId"
    ]
    below = ["SharedStorage[]/FsxOpenZfsSettings"]
    assert check_section(inner, "SharedStorage[]", partial=True, partial_below=below) == []
    for wrong in ("HeadNode/InstanceType", "HeadNode/Sshh"):
        with pytest.raises(KeyError):
            check_section({}, wrong)


def test_keys_and_places_of_the_schema() -> None:
    price = schema_at("Scheduling/SlurmQueues[]/ComputeResources[]/SpotPrice")
    assert price is not None
    assert (price.name, price.kind, price.many) == ("SpotPrice", "float", False)
    assert places_of("spotprice") == ("Scheduling/SlurmQueues[]/ComputeResources[]/SpotPrice",)
    assert parallelcluster_schema().kind == SECTION
    assert schema_at("Scheduling/Slurm") is None
