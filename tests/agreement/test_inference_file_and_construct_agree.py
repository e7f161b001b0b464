"""Each bad input of an inference service, through both doors: fleet file and construct give one error, of one code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import (
    Ec2Hosts,
    FleetError,
    FleetNetwork,
    Front,
    InferenceService,
    ManagedHosts,
    Model,
    ModelExport,
    ModelServer,
    Scaling,
)
from llm_fleet.config.load import parse_fleet
from llm_fleet.rules.terms import InternetAccess
from tests.config.good_fleet import edited_text

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

Construct = Callable[[cdk.Stack], Any]
Value = Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class Bad:
    code: str
    where: str
    edits: Sequence[str]
    construct: Construct = field(repr=False)


def service(**parts: Value) -> Construct:
    """A service of which each of `parts` is made when it is: values tell by themselves what they alone can know."""

    def make(stack: cdk.Stack) -> None:
        network = parts.get("network", lambda: {})()
        good: dict[str, Value] = {
            "model": lambda: Model.from_s3(MODEL),
            "hosts": lambda: Ec2Hosts(instance_type="inf2.xlarge"),
            "front": lambda: Front(plain_http=True),
        }
        InferenceService(
            stack,
            "Chat",
            network=FleetNetwork(
                stack,
                "Network",
                **{"availability_zone_ids": ["usw2-az1", "usw2-az2"], "compute_cidr": "10.1.0.0/24"} | network,
            ),
            service_name="test-chat",
            **{name: value() for name, value in (good | parts).items() if name != "network"},
        )

    return make


def export(**options: Any) -> Construct:
    def make(stack: cdk.Stack) -> None:
        given: dict[str, Any] = {
            "source": Model.from_hub("example/tanuki-8b"),
            "instance_type": "inf2.xlarge",
        } | options
        network = FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az1"])
        ModelExport(stack, "Export", model=Model.from_s3(MODEL), server=ModelServer.tgi(), network=network, **given)

    return make


def on(instance: str) -> Value:
    return lambda: Ec2Hosts(instance_type=instance)


BAD: dict[str, Bad] = {
    "inf2.2xlarge": Bad(
        code="LF730",
        where="services.chat.instance",
        edits=("inf2.xlarge", "inf2.2xlarge"),
        construct=service(hosts=on("inf2.2xlarge")),
    ),
    "a 70B model on inf2.xlarge": Bad(
        code="LF720",
        where="services.chat.instance",
        edits=(MODEL, "s3://my-models/Llama-2-70b-hf"),
        construct=service(model=lambda: Model.from_s3("s3://my-models/Llama-2-70b-hf")),
    ),
    "a Trn2-only server on inf2": Bad(
        code="LF702",
        where="services.chat.server.kind",
        edits=(SERVER, "aws-vllm-neuron"),
        construct=service(server=lambda: ModelServer.aws_vllm_neuron()),
    ),
    "tensor parallelism above the cores": Bad(
        code="LF703",
        where="services.chat.server.tensor_parallel",
        edits=("batch_size: 4", "tensor_parallel: 4"),
        construct=service(server=lambda: ModelServer.tgi(tensor_parallel=4)),
    ),
    "tensor parallelism of 3": Bad(
        code="LF703",
        where="services.chat.server.tensor_parallel",
        edits=("batch_size: 4", "tensor_parallel: 3", "inf2.xlarge", "inf2.24xlarge"),
        construct=service(server=lambda: ModelServer.tgi(tensor_parallel=3), hosts=on("inf2.24xlarge")),
    ),
    "TGI on trn2": Bad(
        code="LF702",
        where="services.chat.server.kind",
        edits=("inf2.xlarge", "trn2.48xlarge"),
        construct=service(hosts=on("trn2.48xlarge")),
    ),
    "a variable of the service's own": Bad(
        code="LF708",
        where="services.chat.server.environment.MAX_BATCH_SIZE",
        edits=("batch_size: 4", "environment: {MAX_BATCH_SIZE: '8'}"),
        construct=service(server=lambda: ModelServer.tgi(environment={"MAX_BATCH_SIZE": "8"})),
    ),
    "a secret as a variable": Bad(
        code="LF709",
        where="services.chat.server.environment.WANDB_API_KEY",
        edits=("batch_size: 4", "environment: {WANDB_API_KEY: abc}"),
        construct=service(server=lambda: ModelServer.tgi(environment={"WANDB_API_KEY": "abc"})),
    ),
    "a capability in the words of Linux": Bad(
        code="LF766",
        where="services.chat.server.capabilities[0]",
        edits=("batch_size: 4", "capabilities: [CAP_IPC_LOCK]"),
        construct=service(server=lambda: ModelServer.tgi(capabilities=("CAP_IPC_LOCK",))),
    ),
    "a batch of 0": Bad(
        code="LF700",
        where="services.chat.server.batch_size",
        edits=("batch_size: 4", "batch_size: 0"),
        construct=service(server=lambda: ModelServer.tgi(batch_size=0)),
    ),
    "a model URI that is no s3://": Bad(
        code="LF710",
        where="services.chat.model.s3",
        edits=(MODEL, "https://my-models.s3.us-west-2.amazonaws.com/tanuki-8b"),
        construct=service(model=lambda: Model.from_s3("https://my-models.s3.us-west-2.amazonaws.com/tanuki-8b")),
    ),
    "a certificate of another region": Bad(
        code="LF741",
        where="services.chat.front.certificate",
        edits=(FRONT, f"{{certificate: '{ELSEWHERE}'}}"),
        construct=service(front=lambda: Front(certificate_arn=ELSEWHERE)),
    ),
    "public without CIDRs": Bad(
        code="LF743",
        where="services.chat.front.allowed_from",
        edits=(FRONT, "{http: true, public: true}"),
        construct=service(front=lambda: Front(plain_http=True, public=True)),
    ),
    "desired 4 with maximum 2": Bad(
        code="LF771",
        where="services.chat.count",
        edits=(COUNT, "count: 4\n    max: 2"),
        construct=service(scaling=lambda: Scaling(desired=4, maximum=2)),
    ),
    "Managed Instances with Mountpoint": Bad(
        code="LF736",
        where="services.chat.hosts.capacity",
        edits=("hosts: ec2", "hosts: managed-instances"),
        construct=service(hosts=lambda: ManagedHosts(instance_type="inf2.xlarge")),
    ),
    # Beyond those that the issue names:
    "plain HTTP that nobody asked for": Bad(
        code="LF742",
        where="services.chat.front.certificate",
        edits=(FRONT, "{}"),
        construct=service(front=lambda: Front()),
    ),
    "a driver that the runtime refuses": Bad(
        code="LF706",
        where="services.chat.hosts.driver",
        edits=("hosts: ec2", 'hosts: {driver: "2.31.7.0"}'),
        construct=service(hosts=lambda: Ec2Hosts(instance_type="inf2.xlarge", driver_version="2.31.7.0")),
    ),
    "a checkpoint that the server does not compile": Bad(
        code="LF725",
        where="services.chat.model.compiled",
        edits=(MODEL, f"{{s3: {MODEL}, compiled: false}}"),
        construct=service(model=lambda: Model.from_s3(MODEL, compiled=False)),
    ),
    "a checkpoint that the host cannot load": Bad(
        code="LF721",
        where="services.chat.instance",
        edits=(MODEL, f"{{s3: {MODEL}, compiled: false}}", SERVER, "aws-vllm"),
        construct=service(model=lambda: Model.from_s3(MODEL, compiled=False), server=lambda: ModelServer.aws_vllm()),
    ),
    "a model of unknown size": Bad(
        code="LF716",
        where="services.chat.model.shape",
        edits=(MODEL, "s3://my-models/own"),
        construct=service(model=lambda: Model.from_s3("s3://my-models/own")),
    ),
    "a setting out of its range": Bad(
        code="LF701",
        where="services.chat.server.graceful_termination",
        edits=("batch_size: 4", "graceful_termination: 24 h"),
        construct=service(server=lambda: ModelServer.tgi(graceful_termination_seconds=86400)),
    ),
    "one AZ": Bad(
        code="LF754",
        where="network.azs",
        edits=("[usw2-az1, usw2-az2]", "[usw2-az1]"),
        construct=service(network=lambda: {"availability_zone_ids": ["usw2-az1"]}),
    ),
    "a closed network": Bad(
        code="LF759",
        where="services.chat.model.hub",
        edits=(
            *("internet: nat", "internet: none", MODEL, "example/tanuki-8b", "inf2.xlarge", "inf2.8xlarge"),
            *("hosts: ec2", f"sidecar_images: {{collector: {'1' * 12}.dkr.ecr.us-west-2.amazonaws.com/c:1}}"),
            *(COUNT, "neuron_health: false"),
        ),
        construct=lambda stack: closed(stack),
    ),
    "more hosts than addresses": Bad(
        code="LF220",
        where="network.compute_cidr",
        edits=(COUNT, "count: 200", "[usw2-az1, usw2-az2]", "[usw2-az1], load_balancer_azs: [usw2-az2]"),
        construct=service(
            scaling=lambda: Scaling(desired=200),
            network=lambda: {"availability_zone_ids": ["usw2-az1"], "load_balancer_zone_ids": ["usw2-az2"]},
        ),
    ),
    "a log kept for 31 days": Bad(
        code="LF761",
        where="services.chat.logs",
        edits=(COUNT, "logs: 31 days"),
        construct=service(log_retention_days=lambda: 31),
    ),
    "sick hosts that nobody finds": Bad(
        code="LF765",
        where="services.chat.replace_sick_hosts",
        edits=(COUNT, "neuron_health: false\n    replace_sick_hosts: true"),
        construct=service(neuron_health=lambda: False, replace_sick_hosts=lambda: True),
    ),
    "a threshold of nothing": Bad(
        code="LF775",
        where="services.chat.alarms.waiting_requests",
        edits=(COUNT, "alarms: {waiting_requests: 0}"),
        construct=lambda stack: alarm_thresholds(waiting_requests=0),
    ),
    "an export on Fargate that the image cannot do": Bad(
        code="LF722",
        where="services.chat.server.kind",
        edits=(COUNT, "export: {source: example/tanuki-8b, fargate: true}"),
        construct=export(fargate=True),
    ),
    "an export on a host that is too small": Bad(
        code="LF723",
        where="services.chat.export.instance",
        edits=(COUNT, "export: {source: example/tanuki-8b, instance: inf2.xlarge}"),
        construct=export(hosts=Ec2Hosts(instance_type="inf2.xlarge")),
    ),
}


def closed(stack: cdk.Stack) -> None:
    from llm_fleet import SidecarImages

    service(
        network=lambda: {"internet": InternetAccess.NONE},
        model=lambda: Model.from_hub("example/tanuki-8b"),
        hosts=on("inf2.8xlarge"),
        neuron_health=lambda: False,
        sidecar_images=lambda: SidecarImages(collector=f"{'1' * 12}.dkr.ecr.us-west-2.amazonaws.com/c:1"),
    )(stack)


def alarm_thresholds(**given: Any) -> None:
    from llm_fleet import AlarmThresholds

    AlarmThresholds(**given)


@pytest.mark.parametrize("what", BAD)
def test_one_error_by_fleet_file_and_by_construct(stack: cdk.Stack, what: str) -> None:
    bad = BAD[what]
    with pytest.raises(FleetError) as by_file:
        parse_fleet(edited_text(GOOD, *bad.edits))
    with pytest.raises(FleetError) as by_construct:
        bad.construct(stack)
    assert [problem.code.value for problem in by_file.value.problems] == [bad.code], by_file.value
    assert [problem.code.value for problem in by_construct.value.problems] == [bad.code], by_construct.value
    assert by_file.value.problems[0].where == bad.where
    for error in (by_file.value, by_construct.value):
        assert error.problems[0].remedy
        assert error.subject


def test_the_service_of_these_tests_is_good(stack: cdk.Stack) -> None:
    parse_fleet(GOOD)
    service()(stack)
