"""Service Quotas: moto has only the defaults of VPC, and no operation that lists an account's own values.

A test sets an account's quotas with `LocalAws.give_account`. Other quotas of VPC have moto's defaults. Those of EC2,
FSx and SageMaker in account_quotas.json are 0, as in new accounts for accelerators, except those under `granted`, which
every account has. Codes are AWS's if they are known, otherwise derived from the name.
A requested increase stays PENDING. A quota of resources that moto counts is also enforced.

Source: model botocore service-quotas RequestServiceQuotaIncrease
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import time
from typing import Any

import botocore.session
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.servicequotas.resources.default_quotas.vpc import VPC_DEFAULT_QUOTAS
from moto.servicequotas.responses import ServiceQuotasResponse

from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation
from llm_fleet_local.aws.resources.moto_fixes.kept_members import once

_SERVICE = "service-quotas"
_INVALID = "IllegalArgumentException"
_MISSING = "NoSuchResourceException"
_PAGE = 100
_SERVICES = ("ec2", "fsx", "sagemaker")
_Place = tuple[str, str]
"""Account and region."""
_granted: dict[_Place, dict[tuple[str, str], float]] = {}
"""Values that tests set, by service and name."""
_requests: dict[_Place, list[dict[str, Any]]] = {}


def install() -> None:
    """Serve the operations."""
    operations = {
        "ListServiceQuotas": _list_granted,
        "ListAWSDefaultServiceQuotas": _list_defaults,
        "GetServiceQuota": _get,
        "RequestServiceQuotaIncrease": _request,
        "ListRequestedServiceQuotaChangeHistory": _history,
    }
    for name, handler in operations.items():
        install_operation(ServiceQuotasResponse, _SERVICE, name, handler, invalid=_INVALID)
    responses: Any = ServiceQuotasResponse
    # moto derives another method name from `AWS` for this operation.
    responses.list_aws_default_service_quotas = responses.list_a_w_s_default_service_quotas
    if once(EC2Backend, "address_quota"):
        EC2Backend.allocate_address = _within_quota(EC2Backend.allocate_address)


def give_quotas(account: str, region: str, quotas: dict[str, dict[str, float]]) -> None:
    """Set quotas of an account, by service and name."""
    granted = _granted.setdefault((account, region), {})
    for service, values in quotas.items():
        granted.update({(service, name): float(value) for name, value in values.items()})


def _within_quota(as_moto_does: Any) -> Any:
    """Reject an Elastic IP address above the quota of the account and Region.

    Source: document https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (2026-11)
    Source: recorded aws/aws-parallelcluster#1734, text of the error (2020-04-12)
    """

    def allocate_address(self: Any, *args: Any, **named: Any) -> Any:
        name = "EC2-VPC Elastic IPs"
        granted = _granted.get((self.account_id, self.region_name), {})
        if len(self.addresses) >= granted.get(("ec2", name), _defaults("ec2")[name]):
            raise EC2ClientError("AddressLimitExceeded", "The maximum number of addresses has been reached.")
        return as_moto_does(self, *args, **named)

    return allocate_address


def _list_granted(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    """List quotas that were ever changed, and all of VPC and EC2; SageMaker's others are only among the defaults."""
    service = requested["ServiceCode"]
    granted = _granted.get((response.current_account, response.region), {})
    found = {name: value for (of, name), value in granted.items() if of == service}
    listed = {**(_defaults(service) if service != "sagemaker" else {}), **found}
    return _paged(response, requested, listed)


def _list_defaults(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    return _paged(response, requested, _defaults(requested["ServiceCode"]))


def _get(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    return {"Quota": _found(response, requested["ServiceCode"], requested["QuotaCode"])}


def _request(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    quota = _found(response, requested["ServiceCode"], requested["QuotaCode"])
    # Source: recorded cloud-custodian/cloud-custodian#8939, code and text of the error (2023-09-12)
    if requested["DesiredValue"] <= quota["Value"]:
        raise Rejected(_INVALID, "You must provide a quota value greater than the current quota value")
    requests = _requests.setdefault((response.current_account, response.region), [])
    # Source: recorded hashicorp/terraform-provider-aws#19657, code and text of the error (2021-06-03)
    if any(one["QuotaCode"] == quota["QuotaCode"] for one in requests):
        raise Rejected(
            "ResourceAlreadyExistsException", "Only one open service quota increase request is allowed per quota."
        )
    request = {
        "Id": hashlib.sha256(quota["QuotaArn"].encode()).hexdigest()[:32],
        **{key: quota[key] for key in ("ServiceCode", "QuotaCode", "QuotaName", "QuotaArn")},
        "DesiredValue": requested["DesiredValue"],
        "Status": "PENDING",
        "Created": time(),
    }
    requests.append(request)
    return {"RequestedQuota": request}


def _history(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    service = requested.get("ServiceCode")
    requests = _requests.get((response.current_account, response.region), [])
    return {"RequestedQuotas": [one for one in requests if service in (None, one["ServiceCode"])]}


def _defaults(service: str) -> dict[str, float]:
    if service == "vpc":
        return {str(quota["QuotaName"]): float(quota["Value"]) for quota in VPC_DEFAULT_QUOTAS}
    if service not in _SERVICES:
        # Source: model botocore service-quotas NoSuchResourceException
        # Source: assumption service-error-texts
        raise Rejected(_MISSING, f"The request failed because the specified service does not exist: {service}")
    return dict.fromkeys(_names(service), 0.0) | _known()["granted"].get(service, {})


def _names(service: str) -> Iterator[str]:
    yield from _known()[service]
    if service == "sagemaker":
        for instance_type in _instance_types():
            yield from (form.format(type=instance_type) for form in _known()["of_instance_types"])


@cache
def _known() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("account_quotas.json").read_text(encoding="utf-8"))


@cache
def _instance_types() -> tuple[str, ...]:
    session: Any = botocore.session.Session()
    return tuple(session.get_service_model("sagemaker").shape_for("ClusterInstanceType").enum)


@cache
def _codes() -> dict[str, str]:
    of_vpc = {str(quota["QuotaName"]): str(quota["QuotaCode"]) for quota in VPC_DEFAULT_QUOTAS}
    return {**of_vpc, **{name: code for service in _SERVICES for name, code in _known()[service].items()}}


def _described(response: Any, service: str, name: str, value: float) -> dict[str, Any]:
    code = _codes().get(name) or f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"
    place = f"{response.partition}:servicequotas:{response.region}:{response.current_account}"
    return {
        "ServiceCode": service,
        "ServiceName": service,
        "QuotaArn": f"arn:{place}:{service}/{code}",
        "QuotaCode": code,
        "QuotaName": name,
        "Value": value,
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
        **_usage_metric(name),
    }


def _usage_metric(name: str) -> dict[str, Any]:
    """Return the usage metric of a quota; the resource names in it are our own."""
    instance_type, _, use = name.partition(" for ")
    if not use.endswith(" usage") or use.startswith("cluster"):
        return {}
    resource = f"{use.removesuffix(' usage').replace(' ', '-')}/{instance_type}"
    dimensions = {"Service": "SageMaker", "Type": "Resource", "Resource": resource, "Class": "None"}
    return {
        "UsageMetric": {
            "MetricNamespace": "AWS/Usage",
            "MetricName": "ResourceCount",
            "MetricDimensions": dimensions,
            "MetricStatisticRecommendation": "Maximum",
        }
    }


def _found(response: Any, service: str, code: str) -> dict[str, Any]:
    values = {**_defaults(service)}
    granted = _granted.get((response.current_account, response.region), {})
    values.update({name: value for (of, name), value in granted.items() if of == service})
    for name, value in values.items():
        quota = _described(response, service, name, value)
        if quota["QuotaCode"] == code:
            return quota
    # Source: model botocore service-quotas NoSuchResourceException
    # Source: assumption service-error-texts
    raise Rejected(_MISSING, "The request failed because the specified quota does not exist")


def _paged(response: Any, requested: dict[str, Any], values: dict[str, float]) -> dict[str, Any]:
    start = int(requested.get("NextToken") or 0)
    end = start + int(requested.get("MaxResults") or _PAGE)
    more = {"NextToken": str(end)} if end < len(values) else {}
    page = list(values.items())[start:end]
    return {"Quotas": [_described(response, requested["ServiceCode"], name, value) for name, value in page], **more}
