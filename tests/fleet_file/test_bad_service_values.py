"""Each invalid input of an inference service in a fleet file is reported once, with its code and path."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from llm_fleet import FleetError
from llm_fleet.fleet_file.load import parse_fleet
from tests.fleet_file.good_fleet import edited_text

GOOD = """\
fleet: test
region: us-west-2
network: {azs: [usw2-az1, usw2-az2], internet: nat, compute_cidr: 10.1.0.0/23}
services:
  chat:
    model: s3://my-models/tanuki-8b
    server: {kind: tgi, batch_size: 4}
    instance: inf2.xlarge
    count: 2
    hosts: ec2
    front: {http: true}
"""
MODEL, SERVER, FRONT, COUNT = "s3://my-models/tanuki-8b", "{kind: tgi, batch_size: 4}", "{http: true}", "count: 2"
ELSEWHERE = "arn:aws:acm:us-east-1:111122223333:certificate/01234567-89ab-cdef-0123-456789abcdef"


@dataclass(frozen=True, kw_only=True)
class Bad:
    code: str
    where: str
    edits: Sequence[str]


BAD: dict[str, Bad] = {
    "inf2.2xlarge": Bad(
        code="LF730",
        where="services.chat.instance",
        edits=("inf2.xlarge", "inf2.2xlarge"),
    ),
    "a 70B model on inf2.xlarge": Bad(
        code="LF720",
        where="services.chat.instance",
        edits=(MODEL, "s3://my-models/Llama-2-70b-hf"),
    ),
    "a Trn2-only server on inf2": Bad(
        code="LF702",
        where="services.chat.server.kind",
        edits=(SERVER, "aws-vllm-neuron"),
    ),
    "tensor parallelism above the cores": Bad(
        code="LF703",
        where="services.chat.server.tensor_parallel",
        edits=("batch_size: 4", "tensor_parallel: 4"),
    ),
    "tensor parallelism of 3": Bad(
        code="LF703",
        where="services.chat.server.tensor_parallel",
        edits=("batch_size: 4", "tensor_parallel: 3", "inf2.xlarge", "inf2.24xlarge"),
    ),
    "TGI on trn2": Bad(
        code="LF702",
        where="services.chat.server.kind",
        edits=("inf2.xlarge", "trn2.48xlarge"),
    ),
    "a variable of the service's own": Bad(
        code="LF708",
        where="services.chat.server.environment.MAX_BATCH_SIZE",
        edits=("batch_size: 4", "environment: {MAX_BATCH_SIZE: '8'}"),
    ),
    "a secret as a variable": Bad(
        code="LF709",
        where="services.chat.server.environment.WANDB_API_KEY",
        edits=("batch_size: 4", "environment: {WANDB_API_KEY: abc}"),
    ),
    "a capability with its Linux name": Bad(
        code="LF766",
        where="services.chat.server.capabilities[0]",
        edits=("batch_size: 4", "capabilities: [CAP_IPC_LOCK]"),
    ),
    "a batch of 0": Bad(
        code="LF700",
        where="services.chat.server.batch_size",
        edits=("batch_size: 4", "batch_size: 0"),
    ),
    "a model URI that is no s3://": Bad(
        code="LF710",
        where="services.chat.model.s3",
        edits=(MODEL, "https://my-models.s3.us-west-2.amazonaws.com/tanuki-8b"),
    ),
    "a certificate of another region": Bad(
        code="LF741",
        where="services.chat.front.certificate",
        edits=(FRONT, f"{{certificate: '{ELSEWHERE}'}}"),
    ),
    "public without CIDRs": Bad(
        code="LF743",
        where="services.chat.front.allowed_from",
        edits=(FRONT, "{http: true, public: true}"),
    ),
    "desired 4 with maximum 2": Bad(
        code="LF771",
        where="services.chat.count",
        edits=(COUNT, "count: 4\n    max: 2"),
    ),
    "Managed Instances with Mountpoint": Bad(
        code="LF736",
        where="services.chat.hosts.capacity",
        edits=("hosts: ec2", "hosts: managed-instances"),
    ),
    # Beyond those that the issue names:
    "plain HTTP that is not enabled": Bad(
        code="LF742",
        where="services.chat.front.certificate",
        edits=(FRONT, "{}"),
    ),
    "a driver that the runtime rejects": Bad(
        code="LF706",
        where="services.chat.hosts.driver",
        edits=("hosts: ec2", 'hosts: {driver: "2.31.7.0"}'),
    ),
    "a checkpoint that the server does not compile": Bad(
        code="LF725",
        where="services.chat.model.compiled",
        edits=(MODEL, f"{{s3: {MODEL}, compiled: false}}"),
    ),
    "a checkpoint that the host cannot load": Bad(
        code="LF721",
        where="services.chat.instance",
        edits=(MODEL, f"{{s3: {MODEL}, compiled: false}}", SERVER, "aws-vllm"),
    ),
    "a model of unknown size": Bad(
        code="LF716",
        where="services.chat.model.shape",
        edits=(MODEL, "s3://my-models/own"),
    ),
    "a setting out of its range": Bad(
        code="LF701",
        where="services.chat.server.graceful_termination",
        edits=("batch_size: 4", "graceful_termination: 24 h"),
    ),
    "one AZ": Bad(
        code="LF754",
        where="network.azs",
        edits=("[usw2-az1, usw2-az2]", "[usw2-az1]"),
    ),
    "a closed network": Bad(
        code="LF759",
        where="services.chat.model.hub",
        edits=(
            *("internet: nat", "internet: none", MODEL, "example/tanuki-8b", "inf2.xlarge", "inf2.8xlarge"),
            *("hosts: ec2", f"sidecar_images: {{collector: {'1' * 12}.dkr.ecr.us-west-2.amazonaws.com/c:1}}"),
            *(COUNT, "neuron_health: false"),
        ),
    ),
    "more hosts than addresses": Bad(
        code="LF220",
        where="network.compute_cidr",
        edits=(COUNT, "count: 200", "[usw2-az1, usw2-az2]", "[usw2-az1], load_balancer_azs: [usw2-az2]"),
    ),
    "a log kept for 31 days": Bad(
        code="LF761",
        where="services.chat.logs",
        edits=(COUNT, "logs: 31 days"),
    ),
    "replacement of faulty hosts without the problem detector": Bad(
        code="LF765",
        where="services.chat.replace_sick_hosts",
        edits=(COUNT, "neuron_health: false\n    replace_sick_hosts: true"),
    ),
    "a threshold of zero": Bad(
        code="LF775",
        where="services.chat.alarms.waiting_requests",
        edits=(COUNT, "alarms: {waiting_requests: 0}"),
    ),
    "an export on Fargate with an unsupported image": Bad(
        code="LF722",
        where="services.chat.server.kind",
        edits=(COUNT, "export: {source: example/tanuki-8b, fargate: true}"),
    ),
    "an export on a host that is too small": Bad(
        code="LF723",
        where="services.chat.export.instance",
        edits=(COUNT, "export: {source: example/tanuki-8b, instance: inf2.xlarge}"),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_each_is_reported_once(what: str) -> None:
    bad = BAD[what]
    with pytest.raises(FleetError) as rejected:
        parse_fleet(edited_text(GOOD, *bad.edits))
    (problem,) = rejected.value.problems
    assert (problem.code.value, problem.where) == (bad.code, bad.where)
    assert problem.remedy
    assert rejected.value.subject


def test_the_unedited_service_is_valid() -> None:
    parse_fleet(GOOD)
