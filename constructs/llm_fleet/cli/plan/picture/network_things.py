"""Cards of the network: gateways and endpoints. VPCs and subnets are no cards; they are the boxes around them."""

from collections.abc import Iterator

from llm_fleet.cli.plan.picture.names import some, wrapped
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View


def network_things(view: View) -> Iterator[Thing]:
    """Give the gateways of each VPC, and its endpoints as one card."""
    for attachment in view.of_type("AWS::EC2::VPCGatewayAttachment"):
        yield _card(attachment, "Internet gateway", vpc=_vpc(view, attachment))
    for gateway in view.of_type("AWS::EC2::NatGateway"):
        yield _card(gateway, "NAT gateway", subnets=view.places(gateway, gateway.properties.get("SubnetId")))
    for vpc in view.of_type("AWS::EC2::VPC"):
        ends = [one for one in view.of_type("AWS::EC2::VPCEndpoint") if _vpc(view, one) == vpc.key]
        if ends:
            yield _endpoints(vpc, ends)


def _endpoints(vpc: Resource, ends: list[Resource]) -> Thing:
    gateways = {one.key for one in ends if one.properties.get("VpcEndpointType") == "Gateway"}
    names = [_service(one) + (" (gateway)" if one.key in gateways else "") for one in ends]
    title = f"{len(ends)} VPC endpoints" if len(ends) > 1 else "VPC endpoint"
    return _card(ends[0], title, lines=some(wrapped(names), 7), vpc=vpc.key)


def _service(endpoint: Resource) -> str:
    """Return e.g. `ecr.dkr` of `com.amazonaws.us-west-2.ecr.dkr`."""
    return ".".join(str(endpoint.properties.get("ServiceName", "")).split(".")[3:])


def _vpc(view: View, resource: Resource) -> str | None:
    found = view.named(resource, resource.properties.get("VpcId"), "AWS::EC2::VPC")
    return found[0].key if found else None


def _card(
    resource: Resource,
    title: str,
    *,
    lines: tuple[str, ...] = (),
    subnets: tuple[str, ...] = (),
    vpc: str | None = None,
) -> Thing:
    return Thing(
        key=resource.key,
        title=title,
        lines=lines,
        tone=Tone.NETWORK,
        column=Column.FRONT,
        stack=resource.stack,
        subnets=subnets,
        vpc=vpc,
    )
