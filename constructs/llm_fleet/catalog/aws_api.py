"""AWS's APIs: request rates, service quotas, and create-only properties of resources."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRate:
    """A token bucket: its capacity in calls, and its refill rate."""

    burst: int
    per_second: float


_api_rates = reader(Mapping[str, ApiRate], "api_rates", "rates")


def api_rate(call: str) -> ApiRate:
    """Return the rate of `start_session`, `list_cluster_nodes`, `describe_instances` or `list_ecs`."""
    return _api_rates()[call]


_page_sizes = reader(Mapping[str, int], "api_rates", "page_sizes")


def page_size(call: str) -> int:
    """Return the maximum number of items in one response."""
    return _page_sizes()[call]


_SAGEMAKER = "sagemaker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuota:
    """One quota, found by its code, or by its name where no code is known. AWS sometimes changes names, never codes."""

    service: str
    """The service's code in Service Quotas, e.g. `sagemaker`."""
    name: str
    code: str | None = None
    """E.g. `L-2C3B7624`; `None` where only the account's Service Quotas have it."""
    unit: str = ""
    """E.g. `vCPUs` or `GiB`; empty if it is a number of the resources in the name."""

    def in_words(self, amount: float) -> str:
        """Return `amount` with its unit, e.g. `1,200 GiB` or `1 instance`."""
        number = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,g}"
        unit = self.unit.removesuffix("s") if amount == 1 and self.unit in ("instances", "vCPUs") else self.unit
        return f"{number} {unit}".rstrip()


_named_quotas = reader(Mapping[str, ServiceQuota], "service_quotas", "named")


def named_quota(key: str) -> ServiceQuota:
    """Return the quota with the catalog's key `key`, e.g. `cluster-size`. Raises `KeyError` for an unknown key."""
    return _named_quotas()[key]


def machine_quota(service: str, instance_type: str, *, capacity: str) -> ServiceQuota | None:
    """Return the SageMaker quota for instances of a type, e.g. `ml.trn1.32xlarge for cluster usage`.

    `service` and `capacity` are values of a fleet's requirements, e.g. `hyperpod` and `spot`. `None` where no quota
    applies: instances of a training plan do not count (developer guide: "needs no quota of its own for usage").
    """
    by_capacity: dict[str, str | None] = load("service_quotas")["of_machines"].get(service, {})
    name = by_capacity.get(capacity, by_capacity.get("on-demand") if capacity != "training-plan" else None)
    return None if name is None else _of_instances(name, instance_type)


def warm_pool_quota(instance_type: str) -> ServiceQuota:
    """Return the quota of instances that SageMaker keeps in warm pools between training jobs."""
    return _of_instances(load("service_quotas")["warm_pool"], instance_type)


def _of_instances(name: str, instance_type: str) -> ServiceQuota:
    return ServiceQuota(service=_SAGEMAKER, name=name.format(type=instance_type), unit="instances")


def vcpu_quota(instance_type: str, *, spot: bool) -> ServiceQuota | None:
    """Return the EC2 quota for vCPUs of running instances of the type; `None` for an unknown type."""
    for entry in load("service_quotas")["vcpus"]:
        quota = entry.get("spot" if spot else "on-demand")
        if quota and re.match(rf"(?:{entry['families']})(?![a-z])", instance_type):
            return ServiceQuota(service="ec2", unit="vCPUs", **quota)
    return None


_EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOnly:
    """CloudFormation property paths, e.g. `VpcConfig.Subnets`."""

    always: tuple[str, ...]
    """A change to one of these replaces the resource."""
    maybe: tuple[str, ...]
    """A change to one of these may replace it, depending on the value."""
    documented: tuple[str, ...] = ()
    """A change to one of these replaces it, by CloudFormation's user guide; the schema does not say so."""


_create_only = reader(Mapping[str, CreateOnly], "create_only")


def create_only(resource_type: str) -> CreateOnly | None:
    """Return the create-only properties of `resource_type`; `None` for a type that is not in the catalog."""
    return _create_only().get(resource_type)


def touches(changed: str, create_only_path: str) -> bool:
    """Return whether one of the paths contains the other or equals it; `changed` is e.g. `VpcConfig.Subnets[0]`."""
    parts = [part for part in changed.replace("[", ".[").split(".") if part]
    names = [_EVERY if part.startswith("[") else part for part in parts]
    other = create_only_path.split(".")
    return all(one == two for one, two in zip(names, other, strict=False))
