"""Every machine that a fleet file asks for."""

from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.cluster_machines import machines_of_clusters
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.service_machines import machines_of_sagemaker, machines_of_services


def machines_of(fleet: Fleet) -> tuple[Machines, ...]:
    """Return the machines of `fleet`, by owner: clusters, services, then what SageMaker runs beside them."""
    return (*machines_of_clusters(fleet), *machines_of_services(fleet), *machines_of_sagemaker(fleet))
