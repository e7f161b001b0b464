"""AWS's APIs: how often each may be called, service quotas, and which properties cannot change in place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRate:
    """A bucket of calls and how fast it fills."""

    burst: int
    per_second: float


_api_rates = reader(Mapping[str, ApiRate], "api_rates", "rates")


def api_rate(call: str) -> ApiRate:
    """Return the rate of `start_session`, `list_cluster_nodes`, `describe_instances` or `list_ecs`."""
    return _api_rates()[call]


_page_sizes = reader(Mapping[str, int], "api_rates", "page_sizes")


def page_size(call: str) -> int:
    """Return how much one call tells at most."""
    return _page_sizes()[call]


_SAGEMAKER = "sagemaker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuota:
    """One quota. AWS rewords names now and then, codes stay; where no code is known, the name finds it."""

    service: str
    """The service's code in Service Quotas, e.g. `sagemaker`."""
    name: str
    code: str | None = None
    """E.g. `L-2C3B7624`; `None` where only the account tells it."""


_named_quotas = reader(Mapping[str, ServiceQuota], "service_quotas", "named")


def named_quota(key: str) -> ServiceQuota:
    """Return a quota by our own short word for it, e.g. `cluster-size`. Another word is a `KeyError`."""
    return _named_quotas()[key]


def machine_quota(service: str, instance_type: str, *, capacity: str) -> ServiceQuota | None:
    """Return the quota that counts SageMaker's instances of a type, e.g. `ml.trn1.32xlarge for cluster usage`.

    `service` and `capacity` are words of what a fleet needs, e.g. `hyperpod` and `spot`. `None` where nothing is
    counted: what a training plan gives is not (developer guide: it needs no quota of its own for usage).
    """
    by_capacity: dict[str, str | None] = load("service_quotas")["of_machines"].get(service, {})
    name = by_capacity.get(capacity, by_capacity.get("on-demand") if capacity != "training-plan" else None)
    return None if name is None else ServiceQuota(service=_SAGEMAKER, name=name.format(type=instance_type))


def warm_pool_quota(instance_type: str) -> ServiceQuota:
    """Return the quota of instances that are kept warm between training jobs."""
    return ServiceQuota(service=_SAGEMAKER, name=load("service_quotas")["warm_pool"].format(type=instance_type))


def vcpu_quota(instance_type: str, *, spot: bool) -> ServiceQuota | None:
    """Return the quota that counts the vCPUs of running instances of a type of EC2; `None` for one not known."""
    for entry in load("service_quotas")["vcpus"]:
        reported = entry.get("spot" if spot else "on-demand")
        if reported and re.match(rf"(?:{entry['families']})(?![a-z])", instance_type):
            return ServiceQuota(service="ec2", **reported)
    return None


_EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOnly:
    """Properties by the names of CloudFormation, nested ones after a dot."""

    always: tuple[str, ...]
    """A change of one makes the resource anew."""
    maybe: tuple[str, ...]
    """A change of one may do so, by the value."""
    documented: tuple[str, ...] = ()
    """A change of one makes it anew by CloudFormation's user guide; the schema is silent."""


_create_only = reader(Mapping[str, CreateOnly], "create_only")


def create_only(resource_type: str) -> CreateOnly | None:
    """Return which properties of `resource_type` cannot change; `None` for a type that the catalog does not have."""
    return _create_only().get(resource_type)


def touches(changed: str, create_only_path: str) -> bool:
    """Return whether the change at `changed`, e.g. `VpcConfig.Subnets[0]`, is at, within or around the other path."""
    parts = [part for part in changed.replace("[", ".[").split(".") if part]
    names = [_EVERY if part.startswith("[") else part for part in parts]
    other = create_only_path.split(".")
    return all(one == two for one, two in zip(names, other, strict=False))
