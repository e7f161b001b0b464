"""An inference service checked and with every default filled in, before any resource of it exists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.model_server import ModelServerFacts, model_servers
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance, neuron_instance_names
from llm_fleet.catalog.service import load_seconds, task_cpu_units, task_limits, task_memory_mib
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.front import Front
from llm_fleet.inference.managed_hosts import ManagedHosts
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.inference.scaling import Scaling
from llm_fleet.inference.server_process import ServerProcess, server_process
from llm_fleet.inference.sidecar_images import SidecarImages
from llm_fleet.network.network import Network
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.address_claims import address_claims
from llm_fleet.rules.inference.asked import asked_of_model
from llm_fleet.rules.inference.check import check_service
from llm_fleet.rules.inference.closed_network import check_pulled_image
from llm_fleet.rules.inference.front_place import check_front_place
from llm_fleet.rules.inference.memory import GIB, weight_bytes
from llm_fleet.rules.inference.service import check_grace, check_log_days, check_sick_hosts
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.tokens import is_unresolved

_SAFE = "llm-"
"""Before a name that begins as ECS allows no name of a capacity provider to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlan:
    """A checked service; it has the shape that the rules ask of one (`ServiceLike`)."""

    name: str
    region: str | None
    server: ModelServer
    model: Model
    hosts: Ec2Hosts | ManagedHosts
    scaling: Scaling
    front: Front
    neuron_health: bool = True
    """Whether a daemon shall watch the devices, where a host can have one."""
    replace_sick_hosts: bool = False
    """Whether it shall have sick hosts replaced."""

    def check(
        self,
        network: Network,
        *,
        log_days: int,
        grace_seconds: int | None,
        images: SidecarImages,
        subject: str,
    ) -> None:
        """Raise `FleetError` with all that is wrong with it."""
        internet, mount = network.internet, self.model.mount
        place = check_front_place(
            self.front,
            zones=tuple(network.load_balancer_subnets(public=self.front.public is True)),
            target_zones=network.availability_zone_ids,
            vpc_cidrs=network.cidrs,
            internet=internet,
        )
        of_service = check_service(self, internet=internet, cache_gib=mount.cache_gib if mount else None)
        told = {problem.path for problem in of_service}
        problems = [
            *of_service,
            # A closed network has no public subnets either: that is one mistake.
            *(problem for problem in place if problem.path not in told),
            *check_log_days(log_days),
            *check_grace(grace_seconds),
            *self._image_needs_region(),
            *self._type_is_known(),
            *check_sick_hosts(replaced=self.replace_sick_hosts, watched=self.watches_devices, managed=self.managed),
            *(
                problem
                for name, image in self.pulled(images)
                for problem in check_pulled_image(image, "sidecar_images", name, region=self.region, internet=internet)
            ),
        ]
        if not problems:
            # Only a service that can exist takes addresses: a second try must not find those of the first.
            zones = network.availability_zone_ids
            problems += network.reserve_addresses(
                address_claims(self.hosts, self.scaling, owner=self.name, zones=zones)
            )
        raise_problems(problems, subject=subject)

    @property
    def served_name(self) -> str:
        """What clients write as `model`."""
        return self.model.served_name or self.name

    @property
    def managed(self) -> bool:
        """Whether AWS runs the instances."""
        return self.hosts.capacity is Capacity.MANAGED_INSTANCES

    @property
    def watches_devices(self) -> bool:
        """Whether a daemon watches the devices: only hosts of ours can run one that sees them."""
        return self.neuron_health and not self.managed

    @property
    def replaces_sick_hosts(self) -> bool:
        """Whether a host with a sick device is replaced."""
        return self.replace_sick_hosts and self.watches_devices

    def pulled(self, images: SidecarImages) -> list[tuple[str, str]]:
        """Return the images beside the server's that hosts pull, by the fields of `SidecarImages`."""
        return list(images.pulled(watched=self.watches_devices, replaced=self.replaces_sick_hosts))

    @property
    def instance(self) -> NeuronInstance:
        """The facts of its instance type, which the rules have found to be there."""
        facts = neuron_instance(self.hosts.instance_type)
        assert facts is not None
        return facts

    @property
    def _facts(self) -> ModelServerFacts:
        """What the catalog knows of its server."""
        return model_servers()[self.server.kind]

    @property
    def memory_mib(self) -> int:
        """What a task may have of its host's memory."""
        return task_memory_mib(self.instance, managed=self.managed)

    @property
    def cpu_units(self) -> int:
        """What a task may have of its host's processors."""
        return task_cpu_units(self.instance)

    @property
    def asked(self) -> Mapping[str, Any]:
        """What its server asks of the model: what it must have been compiled for."""
        return asked_of_model(self.server, self.model, self.instance)

    def process(self, stack: cdk.Stack, *, load_seconds: int) -> ServerProcess:
        """Return how the server is started; it gives up loading no sooner than after `load_seconds`."""
        return server_process(
            self.server,
            instance=self.instance,
            model=self.model,
            model_path=self.model.path,
            served_name=self.served_name,
            region=stack.region,
            dns_suffix=stack.url_suffix,
            idle_timeout_seconds=self.front.longest_answer_seconds,
            load_seconds=load_seconds,
            managed=self.managed,
        )

    def load_seconds(self) -> int:
        """Return how long a server may load, by the catalog; a model of unknown size is as large as the devices are."""
        shape = self.model.shape
        weights = self.instance.hbm_gib if shape is None else weight_bytes(shape) / GIB
        return load_seconds(weights_gib=weights, source=self.model.source, compiled=self.model.compiled)

    def _type_is_known(self) -> list[Problem]:
        """Tell of an instance type that is a token: it decides devices, memory and CPU of the task definition."""
        if not is_unresolved(self.hosts.instance_type):
            return []
        return [
            Problem(
                code=Code.HOST_WITHOUT_NEURON,
                message="the instance type is not known at synth, and the task lists its devices and takes its memory",
                remedy="write it, e.g. 'inf2.xlarge'; what differs by stage can be chosen in the app, by its context",
                path=("hosts", "instance_type"),
                allowed=", ".join(neuron_instance_names()),
            )
        ]

    def _image_needs_region(self) -> list[Problem]:
        facts = self._facts
        if self.region is not None or self.server.image is not None or facts.accounts is None:
            return []
        return [
            Problem(
                code=Code.SERVICE_REGION,
                path=("server", "image"),
                message=f"the image of {facts.title} is in another account in each region, and this stack's region is "
                "not known",
                remedy="give the stack an env with its region, or name the image yourself",
            )
        ]


def service_name_of(scope: Construct, given: str | None) -> str:
    """Return the name as given, or one made of the construct's path, the same from deployment to deployment."""
    if given is not None:
        return given
    limits = task_limits()
    made = cdk.Names.unique_resource_name(scope, max_length=limits.longest_name - len(_SAFE), separator="-")
    return f"{_SAFE}{made}" if made.lower().startswith(limits.provider_prefixes) else made


def region_of(scope: Construct) -> str | None:
    """Return the region of the stack; `None` where it is a token."""
    region = cdk.Stack.of(scope).region
    return None if is_unresolved(region) else region
