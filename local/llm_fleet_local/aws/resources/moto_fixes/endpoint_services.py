"""Interface endpoints in AZs without the service: moto offers every service in every AZ.

AWS does not publish which AZs lack a service; a test sets them with `LocalAws.give_account`.
"""

from collections.abc import Iterable
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend

_INSTALLED = "_llm_fleet_endpoint_services"
_lacking: dict[tuple[str, str], dict[str, set[str]]] = {}
"""By account and region, then by AZ id: the missing services, named as after `com.amazonaws.<region>.`."""


def install() -> None:
    """Remove the missing services from EC2's list, and reject their endpoints."""
    if hasattr(EC2Backend, _INSTALLED):
        return
    setattr(EC2Backend, _INSTALLED, True)
    EC2Backend.describe_vpc_endpoint_services = _listed(EC2Backend.describe_vpc_endpoint_services)
    EC2Backend.create_vpc_endpoint = _created(EC2Backend.create_vpc_endpoint)
    EC2Backend.modify_vpc_endpoint = _modified(EC2Backend.modify_vpc_endpoint)


def take_endpoint_services(account: str, region: str, lacking: dict[str, list[str]]) -> None:
    """Set the services that AZs lack: `lacking` has their names by AZ id."""
    _lacking[account, region] = {zone: set(names) for zone, names in lacking.items()}


def _listed(as_moto_does: Any) -> Any:
    def describe_vpc_endpoint_services(self: Any, *args: Any, **named: Any) -> Any:
        """Source: model botocore ec2 DescribeVpcEndpointServices (ServiceDetail: AZs by name and by id)."""
        described = as_moto_does(self, *args, **named)
        ids = {zone.name: zone.zone_id for zone in self.describe_availability_zones()}
        return {**described, "servicesDetails": [_offered(self, one, ids) for one in described["servicesDetails"]]}

    return describe_vpc_endpoint_services


def _offered(ec2: Any, service: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """Return EC2's description of a service, with the AZs that offer it; `ids`: the id of each AZ by its name."""
    names = [name for name in ids if not _lacks(ec2, ids[name], service["ServiceName"])]
    return {**service, "AvailabilityZones": names, "AvailabilityZoneIds": [ids[name] for name in names]}


def _created(as_moto_does: Any) -> Any:
    def create_vpc_endpoint(self: Any, *args: Any, **named: Any) -> Any:
        _check(self, str(named["service_name"]), named.get("subnet_ids") or ())
        return as_moto_does(self, *args, **named)

    return create_vpc_endpoint


def _modified(as_moto_does: Any) -> Any:
    def modify_vpc_endpoint(self: Any, vpc_id: str, *args: Any, **named: Any) -> Any:
        """Change an endpoint. moto passes the endpoint's id as `vpc_id`."""
        endpoint = self.vpc_end_points.get(vpc_id)
        if endpoint is not None:
            _check(self, str(endpoint.service_name), named.get("add_subnets") or ())
        return as_moto_does(self, vpc_id, *args, **named)

    return modify_vpc_endpoint


def _check(ec2: Any, service: str, subnet_ids: Iterable[str]) -> None:
    """Reject a subnet in an AZ without the service.

    Source: recorded in https://github.com/aws/aws-cdk/issues/4912, terraform-aws-modules/terraform-aws-vpc#462 and
    awslabs/aws-orbit-workbench#320 (code and text)
    """
    for subnet_id in subnet_ids:
        if _lacks(ec2, ec2.get_subnet(subnet_id).availability_zone_id, service):
            raise EC2ClientError(
                "InvalidParameter",
                f"The VPC endpoint service {service} does not support the availability zone of the subnet: "
                f"{subnet_id}.",
            )


def _lacks(ec2: Any, zone_id: str, service: str) -> bool:
    lacking = _lacking.get((ec2.account_id, ec2.region_name), {})
    return service.partition(f".{ec2.region_name}.")[2] in lacking.get(zone_id, ())
