"""A checked inference service with all defaults set, before its resources exist."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import load_seconds, task_cpu_units, task_limits, task_memory_mib
from llm_fleet.inference.model import model_path
from llm_fleet.inference.server import ServerProcess, server_process
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import Form
from llm_fleet.rules.inference.fit import GIB, weight_bytes
from llm_fleet.rules.inference.front import check_front_place
from llm_fleet.rules.inference.model import requested_of_model
from llm_fleet.rules.inference.service import address_claims, check_service, check_service_name
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.service import ServiceSpec

_SAFE = "llm-"
"""Prefix for names that begin with a prefix that ECS does not allow for capacity providers."""


NETWORK = Form(
    wanted="a FleetNetwork",
    has=("availability_zone_ids", "compute_subnets", "reserve_addresses"),
    remedy='write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az2"])), or '
    "FleetNetwork.from_attributes(…) for an existing VPC",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlan:
    """A checked service with its name and its region."""

    spec: ServiceSpec
    name: str
    region: str | None

    def check(self, network: Network, *, subject: str) -> None:
        """Raise `FleetError` with all problems."""
        internet, spec = network.internet, self.spec
        place = check_front_place(
            spec.front,
            zones=tuple(network.load_balancer_subnets(public=spec.front.public is True)),
            target_zones=network.availability_zone_ids,
            vpc_cidrs=network.cidrs,
            internet=internet,
        )
        of_service = [
            *check_service_name(self.name),
            *check_service(spec.narrowed(ServiceSpec, name=None), region=self.region, internet=internet),
        ]
        paths = {problem.path for problem in of_service}
        problems = [
            *of_service,
            # A network without internet access also has no public subnets: report only one problem.
            *(problem for problem in place if problem.path not in paths),
            *self._image_needs_region(),
            *self._type_is_known(),
        ]
        if not problems:
            # Claim addresses only for a valid service, so that a second attempt does not find claims of the first.
            zones = network.availability_zone_ids
            problems += network.reserve_addresses(address_claims(spec, owner=self.name, zones=zones))
        raise_problems(problems, subject=subject)

    @property
    def server(self) -> ModelServer:
        """The model server."""
        return self.spec.server

    @property
    def model(self) -> Model:
        """The model."""
        return self.spec.model

    @property
    def served_name(self) -> str:
        """Value of `model` in requests of clients."""
        return self.model.served_name or self.name

    @property
    def instance(self) -> NeuronInstance:
        """The facts of its instance type; the rules have checked that it exists."""
        facts = neuron_instance(self.spec.instance_type)
        assert facts is not None
        return facts

    @property
    def memory_mib(self) -> int:
        """MiB of the host's memory that a task can use."""
        return task_memory_mib(self.instance, managed=self.spec.hosts.managed)

    @property
    def cpu_units(self) -> int:
        """CPU units of the host that a task can use."""
        return task_cpu_units(self.instance)

    @property
    def requested(self) -> Mapping[str, Any]:
        """The server's requirements for the model: the settings that it must be compiled with."""
        return requested_of_model(self.server, self.model, self.instance)

    def process(self, stack: cdk.Stack, *, load_seconds: int) -> ServerProcess:
        """Return the container settings of the server, which does not time out before `load_seconds`."""
        return server_process(
            self.server,
            instance=self.instance,
            model=self.model,
            model_path=model_path(self.model),
            served_name=self.served_name,
            region=stack.region,
            dns_suffix=stack.url_suffix,
            idle_timeout_seconds=self.spec.front.longest_answer_seconds,
            load_seconds=load_seconds,
            managed=self.spec.hosts.managed,
        )

    def load_seconds(self) -> int:
        """Return the catalog's maximum load time; a model of unknown size counts as large as the devices' memory."""
        shape = self.model.size
        weights = self.instance.hbm_gib if shape is None else weight_bytes(shape) / GIB
        return load_seconds(weights_gib=weights, source=self.model.source, compiled=self.model.is_compiled)

    def _type_is_known(self) -> list[Problem]:
        """Return a problem for an instance type that is a token: devices, memory and CPU of the task depend on it."""
        if not is_unresolved(self.spec.instance_type):
            return []
        return [
            Problem(
                code=Code.HOST_WITHOUT_NEURON,
                message="the instance type is a CDK token, but devices and memory of the task depend on it",
                remedy="write the name, e.g. 'inf2.xlarge'; for values by stage, use CDK context in the app",
                path=("instance_type",),
                allowed=", ".join(neuron_instance_names()),
            )
        ]

    def _image_needs_region(self) -> list[Problem]:
        facts = self.server.facts
        if self.region is not None or self.server.image is not None or facts.accounts is None:
            return []
        return [
            Problem(
                code=Code.SERVICE_REGION,
                path=("server", "image"),
                message=f"the image of {facts.title} is in a different account in each region, but the stack's region "
                "is unknown",
                remedy="set the region in the stack's env, or set the image",
            )
        ]


def service_name_of(scope: Construct, given: str | None) -> str:
    """Return `given`, or a stable name that is generated from the construct's path."""
    if given is not None:
        return given
    limits = task_limits()
    made = cdk.Names.unique_resource_name(scope, max_length=limits.longest_name - len(_SAFE), separator="-")
    return f"{_SAFE}{made}" if made.lower().startswith(limits.provider_prefixes) else made
