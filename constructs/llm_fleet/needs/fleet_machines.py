"""The machines that services run, and all of a fleet."""

from collections.abc import Iterator

from llm_fleet.config.check_sagemaker import zones_of_studio
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.sagemaker import EndpointConfig, TrainingJobConfig
from llm_fleet.needs.machines import CapacitySource, Machines, MachineService, machines_of_clusters

_HOSTS_FROM_ZERO = 2


def machines_of_services(fleet: Fleet) -> Iterator[Machines]:
    """Return those of inference services: a task has an instance to itself. What an export runs on is left out: it runs
    by hand, once."""
    for name, service in fleet.services.items():
        tasks = service.tasks
        yield Machines(
            owner=f"service {name}",
            path=("services", name),
            service=MachineService.ECS,
            instance_type=service.instance_type,
            count=tasks.maximum,
            minimum=tasks.minimum,
            # assumption: ecs-managed-scaling-starts-from-zero
            at_first=min(_HOSTS_FROM_ZERO, tasks.maximum) if not service.hosts.managed else 0,
            availability_zone_ids=_network_zones(fleet),
        )


def machines_of_sagemaker(fleet: Fleet) -> Iterator[Machines]:
    """Return those that SageMaker rents out beside clusters; jobs, notebooks and Studio may have none for long."""
    for name, endpoint in fleet.endpoints.items():
        inside = endpoint.stands_in_network(fleet_has_one=fleet.network is not None)
        yield _of_endpoint(name, endpoint, _network_zones(fleet) if inside else ())
    for name, job in fleet.training_jobs.items():
        yield _of_job(name, job, _zones_of_job(job, fleet))
    for name, notebook in fleet.notebooks.items():
        zone = notebook.availability_zone_id or fleet.first_zone
        yield Machines(
            owner=f"notebook {name}",
            path=("notebooks", name),
            service=MachineService.NOTEBOOK,
            instance_type=notebook.instance_type,
            count=1,
            minimum=0,
            availability_zone_ids=() if zone is None else (zone,),
        )
    if fleet.studio is not None:
        yield Machines(
            owner="studio",
            path=("studio",),
            service=MachineService.STUDIO,
            instance_type=fleet.studio.instance_type,
            count=len(fleet.studio.users),
            minimum=0,
            availability_zone_ids=zones_of_studio(fleet, fleet.studio),
        )


def _of_endpoint(name: str, endpoint: EndpointConfig, zones: tuple[str, ...]) -> Machines:
    return Machines(
        owner=f"endpoint {name}",
        path=("endpoints", name),
        service=MachineService.ENDPOINT,
        instance_type=endpoint.instance_type,
        count=endpoint.greatest_instance_count,
        minimum=endpoint.least_instance_count,
        availability_zone_ids=zones,
    )


def _of_job(name: str, job: TrainingJobConfig, zones: tuple[str, ...]) -> Machines:
    capacity = CapacitySource.SPOT if job.spot is not None else CapacitySource.ON_DEMAND
    return Machines(
        owner=f"training job {name}",
        path=("training_jobs", name),
        service=MachineService.TRAINING_JOB,
        instance_type=job.instance_type,
        count=job.instance_count,
        minimum=0,
        availability_zone_ids=zones,
        capacity=capacity if job.training_plan_arn is None else CapacitySource.TRAINING_PLAN,
        capacity_id=job.training_plan_arn,
    )


def _zones_of_job(job: TrainingJobConfig, fleet: Fleet) -> tuple[str, ...]:
    """With a channel on FSx it runs in that AZ, else in any of the network."""
    zone = fleet.zone_of_fsx if any(channel.fsx is not None for channel in job.channels.values()) else None
    return _network_zones(fleet) if zone is None else (zone,)


def _network_zones(fleet: Fleet) -> tuple[str, ...]:
    return () if fleet.network is None else fleet.network.zones


def machines_of(fleet: Fleet) -> tuple[Machines, ...]:
    """Return the machines of `fleet`, by owner: clusters, services, then what SageMaker runs beside them."""
    return (*machines_of_clusters(fleet), *machines_of_services(fleet), *machines_of_sagemaker(fleet))
