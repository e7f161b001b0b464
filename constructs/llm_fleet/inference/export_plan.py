"""An export checked, before any resource of it exists."""

from dataclasses import dataclass

from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.inference.service_forms import check_arguments
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.closed_network import check_pulled_image
from llm_fleet.rules.inference.export import check_export, check_export_host, check_export_network, export_instance
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.server import check_server_on, cores_of
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.terms import InternetAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """What is exported, for what."""

    source: Model
    model: Model
    server: ModelServer
    instance_type: str
    """What it will be served on."""
    region: str | None
    """Where; `None` when nobody told."""

    def check(
        self,
        hosts: Ec2Hosts | None,
        *,
        fargate: bool,
        tools_image: str,
        internet: InternetAccess | None,
        subject: str,
    ) -> Ec2Hosts | None:
        """Return the hosts that it is exported on, `None` for Fargate; raise `FleetError` with all that is wrong."""
        told = {} if hosts is None else {"hosts": hosts}
        raise_problems(
            check_arguments(source=self.source, model=self.model, server=self.server, **told), subject=subject
        )
        # Raises for what is no instance type with Neuron devices.
        Ec2Hosts(instance_type=self.instance_type)
        problems = [
            *check_export(self.source, self.model, self.server, fargate=fargate),
            *(each.under("server") for each in check_server_on(self.server, self.instance_type, self.region)),
            *check_fit(self.server, self.model, self.instance_type),
            *check_export_network(self.source, internet),
            *check_pulled_image(self.server.image, "server", "image", region=self.region, internet=internet),
            *check_pulled_image(tools_image, "tools_image", region=self.region, internet=internet),
        ]
        if hosts is not None and fargate:
            problems.append(
                Problem(
                    code=Code.MODEL_EXPORT,
                    message="both hosts of your own and Fargate",
                    remedy="leave one of them out",
                    path=("fargate",),
                    value=True,
                )
            )
        raise_problems(problems, subject=subject)
        return None if fargate else self._hosts(hosts, subject)

    @property
    def serving(self) -> NeuronInstance:
        """The facts of the type that it will be served on, which `check` has found to be there."""
        found = neuron_instance(self.instance_type)
        assert found is not None
        return found

    @property
    def shape(self) -> ShapeLike:
        """How large it is, which the model's own rules have found to be told."""
        assert self.model.shape is not None
        return self.model.shape

    def _hosts(self, given: Ec2Hosts | None, subject: str) -> Ec2Hosts:
        cores = cores_of(self.server, self.serving)
        smallest = export_instance(self.model, server=self.server, cores=cores, family=self.serving.family)
        hosts = given or Ec2Hosts(instance_type=smallest or self.instance_type)
        raise_problems(
            check_export_host(self.model, hosts.instance_type, server=self.server, cores=cores), subject=subject
        )
        return hosts
