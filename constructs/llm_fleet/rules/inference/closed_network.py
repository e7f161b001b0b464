"""What an inference service cannot fetch in a network without a way to the internet."""

import re

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import ServiceLike
from llm_fleet.rules.inference.terms import Authentication, ModelSource, ServerKind
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved

_ECR = re.compile(r"[0-9]{12}\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)/.+")
"""A private registry, and no other: VPC endpoints of ECR reach the private registries of their own region alone.

Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
"""


def check_pulled_image(
    image: str | None, *path: PathPart, region: str | None, internet: InternetAccess | None
) -> list[Problem]:
    """Return a problem at `path` when hosts in a network of this kind cannot pull `image`.

    Only of a network that is closed for sure: `internet` is `None` where nobody told.
    """
    if internet != InternetAccess.NONE or image is None or is_unresolved(image):
        return []
    found = _ECR.fullmatch(image)
    home = region if region is not None and not is_unresolved(region) else None
    if found and (home is None or found["region"] == home):
        return []
    where = f"in ECR of {found['region']}" if found else f"at {image.partition('/')[0]}"
    return [
        Problem(
            code=Code.CLOSED_NETWORK,
            path=path,
            message=f"this image is {where}, and nothing leads there out of a network without internet",
            value=image,
            allowed=f"an image in a private ECR registry of {home or 'the region'}",
            remedy="copy the image into ECR of the region (`docker buildx imagetools create`), or give the network a "
            "NAT gateway",
        )
    ]


def check_closed_network(service: ServiceLike, internet: InternetAccess | None) -> list[Problem]:
    """Return what `service` could not fetch in a network of this kind: image, model, keys of an issuer; and who asks.

    Whether the sidecars' images can be pulled is for those who name them, by `check_pulled_image`.
    """
    if internet != InternetAccess.NONE:
        return []
    image = service.server.image or _public_image(service.server.kind)
    problems = check_pulled_image(image, "server", "image", region=service.region, internet=internet)
    if service.model.source is ModelSource.HUB:
        problems.append(
            Problem(
                code=Code.CLOSED_NETWORK,
                path=("model", "location"),
                message="a model of the Hub is downloaded when a task starts, and this network has no way there",
                value=service.model.location,
                allowed="a model in S3 or in the image",
                remedy="copy the model into a bucket and name it as s3://…, or give the network a NAT gateway",
            )
        )
    if service.front.authentication is Authentication.JWT:
        problems.append(
            Problem(
                code=Code.CLOSED_NETWORK,
                path=("front", "jwt", "jwks_endpoint"),
                message="the load balancer fetches the issuer's keys from the internet, and this network has no way "
                "there",
                remedy="use an API key, or give the network a NAT gateway",
            )
        )
    if service.front.public:
        problems.append(
            Problem(
                code=Code.CLOSED_NETWORK,
                path=("front", "public"),
                message="a network without internet has no public subnets for a public front",
                value=True,
                allowed="false",
                remedy="leave the front private, or give the network a NAT gateway",
            )
        )
    return problems


def _public_image(kind: ServerKind) -> str | None:
    """Return the catalog's image where it is in a public registry; `None` where it is in ECR of every region."""
    facts = model_servers()[kind]
    return None if facts.accounts else f"{facts.repository}:{facts.tag}"
