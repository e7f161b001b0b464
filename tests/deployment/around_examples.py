"""What is around each example before it is deployed.

Resources that an example expects to exist are created, and their ids replace the placeholders.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.inference_on_aws import lay_model

Surround = Callable[[LocalAws, str], str]
"""Makes what the text of a fleet file says exists; returns the text with the ids of what was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is around an example before it is deployed."""

    objects: Sequence[str] = ()
    """`bucket/key` of what is in S3; a bucket that the fleet itself makes is filled as soon as it is there."""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """`bucket/prefix` of the exported model of each service, likewise."""
    compilers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the model of a service was compiled by, where its server's image has another neuronx-cc than TGI's."""
    network_first: bool = False
    """Whether the fleet's network is deployed by itself before the rest is made."""
    surround: Sequence[Surround] = ()


def own_network(aws: LocalAws, text: str) -> str:
    """A VPC with its three security groups and two file systems, whose groups let the nodes' group in."""
    ec2, fsx = aws.client("ec2"), aws.client("fsx")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    (zone,) = re.findall(r"subnets: \{(\S+): subnet-", text)
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20", AvailabilityZoneId=zone)["Subnet"]["SubnetId"]
    groups = [
        ec2.create_security_group(VpcId=vpc, GroupName=name, Description=name)["GroupId"]
        for name in ("nodes", "lustre", "open-zfs")
    ]
    within = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": groups[0]}]}]
    ec2.authorize_security_group_ingress(GroupId=groups[0], IpPermissions=within)
    own: Any = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": groups[1]}]}]
    ec2.authorize_security_group_ingress(GroupId=groups[1], IpPermissions=own)
    made_lustre = fsx.create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[subnet],
        SecurityGroupIds=[groups[1]],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]
    home = fsx.create_file_system(
        FileSystemType="OPENZFS",
        StorageCapacity=64,
        SubnetIds=[subnet],
        SecurityGroupIds=[groups[2]],
        OpenZFSConfiguration={"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64},
    )["FileSystem"]["FileSystemId"]
    made = {"vpc-0123456789abcdef0": vpc, "subnet-0123456789abcdef0": subnet}
    made |= {f"sg-0123456789abcdef{number}": group for number, group in enumerate(groups)}
    made |= {"fs-0123456789abcdef0": made_lustre["FileSystemId"], "fs-0123456789abcdef1": home}
    made["abcd1234"] = made_lustre["LustreConfiguration"]["MountName"]
    return _replaced(text, made)


def things_of_the_account(aws: LocalAws, text: str) -> str:
    """Keys, secrets, roles, certificates, topics and buckets in place of the made-up ones."""
    kms, iam, secrets = aws.client("kms"), aws.client("iam"), aws.client("secretsmanager")
    made: dict[str, str] = {}
    for word in _found(r"arn:aws:kms:[\w:-]+key/[\w-]+", text):
        made[word] = kms.create_key()["KeyMetadata"]["Arn"]
    for word in _found(r"arn:aws:secretsmanager:[\w:-]+:secret:[\w-]+", text):
        name = word.rpartition(":")[2].removesuffix("-AbCdEf")
        made[word] = secrets.create_secret(Name=name, SecretString="{}")["ARN"]
    for word in _found(r"arn:aws:acm:[\w:-]+certificate/[\w-]+", text):
        made[word] = aws.client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"]
    for word in _found(r"arn:aws:sns:[\w:-]+", text):
        aws.client("sns").create_topic(Name=word.rpartition(":")[2])
    for word in _found(r"arn:aws:iam::\d+:role/[\w-]+", text):
        trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        iam.create_role(RoleName=word.rpartition("/")[2], AssumeRolePolicyDocument=document)
    for word in _found(r"arn:aws:iam::\d+:policy/[\w/-]+", text):
        path, _, name = word.partition(":policy")[2].rpartition("/")
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.create_policy(PolicyName=name, Path=f"{path}/", PolicyDocument=document)
    for word in _found(r"(?<=    key: )my-[\w-]+", text):
        aws.client("ec2").create_key_pair(KeyName=word)
    for word in _found(r"(?<=s3://)my-[\w-]+|(?<=bucket: )sagemaker-my-[\w-]+", text):
        _make_bucket(aws, word)
    return _replaced(text, made)


def within_the_fleets_network(aws: LocalAws, text: str) -> str:
    """Create the resources that an owner would create by hand in the fleet's network."""
    whole = yaml.safe_load(text)
    ec2, fsx = aws.client("ec2"), aws.client("fsx")
    (stack,) = aws.client("cloudformation").describe_stacks(StackName=f"{whole['fleet']}-network")["Stacks"]
    vpc = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", ())}["VpcId"]
    zones = whole["network"].get("azs") or [whole["network"]["az"]]
    made: dict[str, str] = {}
    for number, word in enumerate(_found(r"subnet-[0-9a-f]{17}", text)):
        block = f"10.0.{240 + number}.0/24"
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZoneId=zones[number % len(zones)])["Subnet"]
        made[word] = subnet["SubnetId"]
    for word in _found(r"\bsg-[0-9a-f]{17}", text):
        group = ec2.create_security_group(VpcId=vpc, GroupName=word, Description="made by hand")["GroupId"]
        everything: Any = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=everything)
        ec2.authorize_security_group_egress(GroupId=group, IpPermissions=everything)
        made[word] = group
    volumes = _found(r"(?<=volume: )fsvol-[0-9a-f]{17}", text)
    if volumes:
        settings = {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64}
        home = fsx.create_file_system(
            FileSystemType="OPENZFS", StorageCapacity=64, SubnetIds=[made["subnet-0123456789abcdef0"]],
            SecurityGroupIds=[made["sg-0123456789abcdef2"]], OpenZFSConfiguration=settings,
        )["FileSystem"]  # fmt: skip
        made["fs-0123456789abcdef1"] = home["FileSystemId"]
        made |= dict.fromkeys(volumes, str(home["OpenZFSConfiguration"].get("RootVolumeId")))
    return _replaced(text, made)


def _found(pattern: str, text: str) -> list[str]:
    return sorted(set(re.findall(pattern, text)))


def _make_bucket(aws: LocalAws, name: str) -> None:
    s3 = aws.client("s3")
    if name not in {one["Name"] for one in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": aws.region})


def _replaced(text: str, made: Mapping[str, str]) -> str:
    for word, real in made.items():
        text = text.replace(word, real)
    return text


AROUND = {
    "hyperpod-existing-network": Around(surround=[own_network]),
    "hyperpod-full": Around(
        network_first=True,
        objects=[f"sagemaker-my-scripts/full/1/{name}.sh" for name in ("start", "trn1", "legacy")],
        surround=[within_the_fleets_network, things_of_the_account],
    ),
    "parallelcluster-full": Around(
        network_first=True,
        objects=["my-scripts/slurm.conf"],
        surround=[within_the_fleets_network, things_of_the_account],
    ),
    "inference-inf2": Around(models={"chat": "my-models/tanuki-8b"}),
    "inference-full": Around(
        models={"chat": "my-models/chat-v2", "code": "served-fleet-models/code-1b"},
        compilers={"code": "2.21.33363.0"},
        surround=[things_of_the_account],
    ),
    "training-llama2-7b": Around(
        models={"chat": "llama2-models-example/llama-2-7b"}, compilers={"chat": "2.21.33363.0"}
    ),
    "training-parallelcluster": Around(models={"chat": "tanuki-models-example/tanuki-8b"}),
    "sagemaker-full": Around(
        objects=[
            "everything-fleet-data/chat-8b/config.json",
            "my-models/chat-8b-neuron/config.json",
            "my-models/own/model.tar.gz",
        ],
        surround=[things_of_the_account],
    ),
}


def owned_buckets(aws: LocalAws, around: Around) -> None:
    """Create the buckets of models and objects that the fleet does not create."""
    for place in (*around.objects, *around.models.values()):
        bucket = place.partition("/")[0]
        if bucket.startswith(("my-", "sagemaker-my-")):
            _make_bucket(aws, bucket)


def bring(aws: LocalAws, around: Around, fleet: Any) -> None:
    """Lay into S3 what is to be there, where its bucket is."""
    s3 = aws.client("s3")
    there = {one["Name"] for one in s3.list_buckets()["Buckets"]}
    for one in around.objects:
        bucket, _, key = one.partition("/")
        if bucket in there:
            s3.put_object(Bucket=bucket, Key=key, Body=b"{}")
    for service, place in around.models.items():
        bucket, _, prefix = place.partition("/")
        server: dict[str, Any] = fleet["services"][service].get("server", {})
        names = {"tensor_parallel": "tp_degree", "batch_size": "batch_size", "sequence_length": "sequence_length"}
        if bucket in there:
            compiled: dict[str, Any] = {to: server[name] for name, to in names.items() if name in server}
            if service in around.compilers:
                compiled["neuronxcc_version"] = around.compilers[service]
            lay_model(aws, bucket=bucket, prefix=prefix, **compiled)
