"""All rules of an inference service: of its parts, between them, and of its name, log, alarms and addresses."""

import math
import re
from collections.abc import Sequence

from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.network import address_facts
from llm_fleet.catalog.service import task_limits
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.inference.driver import check_driver, driver_for
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.front import check_front
from llm_fleet.rules.inference.hosts import check_driver_source, check_host_type, check_hosts, check_hosts_with
from llm_fleet.rules.inference.model import check_compiled, check_model, check_place
from llm_fleet.rules.inference.scaling import check_scaling
from llm_fleet.rules.inference.server import check_server, check_server_on
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_retention_days
from llm_fleet.spec.front import Authentication
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.served_model import ModelSource
from llm_fleet.spec.service import Alarms, ServiceSpec


def check_service(service: ServiceSpec, *, region: str | None, internet: InternetAccess | None = None) -> list[Problem]:
    """Return everything that is wrong with `service`, each mistake once; a good one gives nothing.

    Paths are attribute names. `region`: where it stands; `None` or a token when that is not known. `internet`: whether
    its network has a way out; `None` when that is not known.
    """
    server, model = service.server, service.model
    place = _under("model", check_place(model))
    of_server = _under("server", check_server(server))
    on_instance = _under("server", check_server_on(server, service.instance_type, region))
    of_model = _under("model", [*check_model(model), *check_compiled(server, model)])
    problems = [
        *check_fields(service),
        *([] if service.name is None else check_service_name(service.name)),
        *of_server,
        *on_instance,
        *of_model,
        *_hosts(service, internet),
        *_under("front", check_front(service.front, region=region)),
        *check_scaling(service),
        *check_closed_network(service, region=region, internet=internet),
    ]
    if not (of_server or on_instance or of_model):
        # How much memory a server takes is only known of one that runs there, and of a model that it can serve.
        problems += check_fit(server, model, service.instance_type)
    if place:
        problems = [*place, *(problem for problem in problems if problem.path[:1] != ("model",))]
    return [
        *problems,
        *check_retention_days(service.log_retention_days, Code.SERVICE_LOG_DAYS, "log_retention_days"),
        *_check_grace(service.health_check_grace_seconds),
        *_check_sick_hosts(service),
        *_under("alarms", check_thresholds(service.alarms)),
        *(
            problem
            for name, image in service.pulled()
            for problem in check_pulled_image(image, "sidecar_images", name, region=region, internet=internet)
        ),
    ]


def _hosts(service: ServiceSpec, internet: InternetAccess | None) -> list[Problem]:
    """Return what is wrong with the hosts, alone and under this server and model; a mistake alone hides the others."""
    server, hosts = service.server, service.hosts
    of_type = check_host_type(service.instance_type, managed=hosts.managed)
    alone = [*of_type, *_under("hosts", check_hosts(hosts))]
    alone = alone or _under("hosts", check_driver(server, hosts.driver_version))
    if alone:
        return alone
    driver = hosts.driver_version or driver_for(server)
    together = [
        *check_hosts_with(hosts, server=server, model=service.model),
        *check_driver_source(hosts, driver, internet=internet),
    ]
    return _under("hosts", together)


def _under(part: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(part) for problem in problems]


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def check_service_name(name: str) -> list[Problem]:
    """Check the name of a service, which its ECS cluster and its capacity provider bear as well."""
    if is_unresolved(name):
        return []
    limits = task_limits()
    allowed = f"1 to {limits.longest_name} letters, digits and hyphens, a letter first"
    prefix = next((prefix for prefix in limits.provider_prefixes if name.lower().startswith(prefix)), None)
    if not _NAME.fullmatch(name) or len(name) > limits.longest_name:
        message, remedy = "ECS takes no such name", "write a short name of letters, digits and hyphens, such as chat"
    elif prefix is not None:
        message = f"ECS keeps names that begin with {prefix!r} to itself, and the service's capacity provider bears it"
        remedy = f"write another beginning, such as llm-{name}"
    else:
        return []
    return [
        Problem(code=Code.SERVICE_NAME, path=("name",), message=message, value=name, allowed=allowed, remedy=remedy)
    ]


def _check_grace(seconds: int | None) -> list[Problem]:
    """Check the health check grace period; `None` is the catalog's figure."""
    longest = task_limits().grace_seconds_max
    if seconds is None or is_unresolved(seconds) or 0 < seconds <= longest:
        return []
    return [
        Problem(
            code=Code.SERVICE_GRACE,
            path=("health_check_grace_seconds",),
            message="ECS would stop each task before its server has loaded the model"
            if seconds <= 0
            else "ECS knows no such long grace period",
            value=seconds,
            allowed=f"1 to {longest} seconds",
            remedy="leave it out for the catalog's figure, or write how many seconds the model loads, doubled",
        )
    ]


def _check_sick_hosts(service: ServiceSpec) -> list[Problem]:
    """Check that something finds the sick hosts that shall be replaced: a daemon on hosts of ours."""
    if service.watches_devices or not service.replace_sick_hosts:
        return []
    managed = service.hosts.managed
    why = "AWS replaces impaired Managed Instances itself" if managed else "nobody watches the devices"
    return [
        Problem(
            code=Code.SERVICE_SICK_HOSTS,
            path=("replace_sick_hosts",),
            value=True,
            message=f"no host can be found sick here: {why}",
            remedy="leave it out" if managed else "leave it out, or let neuron_health be true",
        )
    ]


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


def check_closed_network(service: ServiceSpec, *, region: str | None, internet: InternetAccess | None) -> list[Problem]:
    """Return what `service` could not fetch in a network of this kind: image, model, keys of an issuer; and who asks.

    Whether the sidecars' images can be pulled is for those who name them, by `check_pulled_image`.
    """
    if internet != InternetAccess.NONE:
        return []
    image = service.server.image or _public_image(service.server.kind)
    problems = check_pulled_image(image, "server", "image", region=region, internet=internet)
    if service.model.source is ModelSource.HUB:
        problems.append(
            Problem(
                code=Code.CLOSED_NETWORK,
                path=("model", *service.model.place),
                message="a model of the Hub is downloaded when a task starts, and this network has no way there",
                value=service.model.place_value,
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


_NAMES = ("time_to_first_token_seconds", "waiting_requests", "server_error_percent")


def check_thresholds(thresholds: Alarms) -> list[Problem]:
    """Return a problem for each threshold that is no number above 0, and for more than a hundred percent."""
    return [problem for name in _NAMES for problem in _check(name, getattr(thresholds, name))]


def _check(name: str, value: object) -> list[Problem]:
    if value is None or is_unresolved(value):
        return []
    most = 100 if name.endswith("_percent") else math.inf
    if type(value) in (int, float) and isinstance(value, int | float) and 0 < value <= most and math.isfinite(value):
        return []
    allowed = "a number above 0" if most == math.inf else f"a number above 0, up to {most}"
    return [
        Problem(
            code=Code.ALARM_THRESHOLD,
            path=(name,),
            value=value,
            message="this threshold would let the alarm ring always, or never",
            allowed=allowed,
            remedy=f"write {allowed}, or leave it out",
        )
    ]


def address_claims(service: ServiceSpec, *, owner: str, zones: Sequence[str]) -> list[AddressClaim]:
    """Return a claim for each of `zones`, over which the hosts are spread: as many as there may be at most.

    Each host has an address, as has its serving task, which is in the VPC by itself (`awsvpc`). The load balancer
    stands in other subnets. A number that is known only at deploy time claims nothing.
    """
    most = service.tasks.maximum
    if is_unresolved(most) or is_unresolved(service.instance_type) or not zones:
        return []
    return [
        AddressClaim(
            owner=owner,
            what=f"{service.instance_type} with its task",
            count=math.ceil(most / len(zones)),
            addresses_each=address_facts().addresses_of_serving_host,
            availability_zone_id=zone,
            replaceable=True,
        )
        for zone in zones
    ]
