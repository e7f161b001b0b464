"""The quotas of an account that a fleet can run into, as Service Quotas names them."""

import re
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load

_SAGEMAKER = "sagemaker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuota:
    """One quota. AWS rewords names now and then, codes stay; where no code is known, the name finds it."""

    service: str
    """The service's code in Service Quotas, e.g. `sagemaker`."""
    name: str
    code: str | None = None
    """E.g. `L-2C3B7624`; `None` where only the account tells it."""


def named_quota(key: str) -> ServiceQuota:
    """Return a quota by our own short word for it, e.g. `cluster-size`. Another word is a `KeyError`."""
    return ServiceQuota(**load("service_quotas")["named"][key])


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
        told = entry.get("spot" if spot else "on-demand")
        if told and re.match(rf"(?:{entry['families']})(?![a-z])", instance_type):
            return ServiceQuota(service="ec2", **told)
    return None
