"""All rules of an inference service: its parts, their combination, its name, logs, alarms and addresses."""

import math
import re
from collections.abc import Iterator, Sequence

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.model_server import model_servers
from llm_fleet.catalog.network import address_facts
from llm_fleet.catalog.service import scaling_facts, task_limits
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.inference.fit import check_fit
from llm_fleet.rules.inference.front import check_front
from llm_fleet.rules.inference.hosts import (
    check_driver,
    check_driver_source,
    check_host_type,
    check_hosts,
    check_hosts_with,
    driver_for,
)
from llm_fleet.rules.inference.model import check_compiled, check_model, check_place
from llm_fleet.rules.inference.server import check_server, check_server_on
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule, under
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.values import check_number, check_retention_days, is_above, is_positive
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import ModelSource
from llm_fleet.spec.service import Alarms, Authentication, Scaling, ServiceSpec


def check_service(service: ServiceSpec, *, region: str | None, internet: InternetAccess | None = None) -> list[Problem]:
    """Return everything that is wrong with `service`, each mistake once.

    Paths are attribute names. `region`: its region; `None` or a token when unknown. `internet`: the internet access of
    its network; `None` when unknown.
    """
    server, model = service.server, service.model
    place = under(check_place(model), "model")
    of_server = under(check_server(server), "server")
    on_instance = under(check_server_on(server, service.instance_type, region), "server")
    of_model = under([*check_model(model), *check_compiled(server, model)], "model")
    problems = [
        *check_fields(service),
        *([] if service.name is None else check_service_name(service.name)),
        *of_server,
        *on_instance,
        *of_model,
        *_hosts(service, internet),
        *under(check_front(service.front, region=region), "front"),
        *check_scaling(service),
        *check_closed_network(service, region=region, internet=internet),
    ]
    if not (of_server or on_instance or of_model):
        # The memory is calculated only when server, instance type and model are compatible.
        problems += check_fit(server, model, service.instance_type)
    if place:
        problems = [*place, *(problem for problem in problems if problem.path[:1] != ("model",))]
    return [
        *problems,
        *check_retention_days(service.log_retention_days, Code.SERVICE_LOG_DAYS, "log_retention_days"),
        *_check_grace(service),
        *_check_sick_hosts(service),
        *under(check_thresholds(service.alarms), "alarms"),
        *(
            problem
            for name, image in service.pulled()
            for problem in check_pulled_image(image, "sidecar_images", name, region=region, internet=internet)
        ),
    ]


def _hosts(service: ServiceSpec, internet: InternetAccess | None) -> list[Problem]:
    """Return what is wrong with the hosts; if nothing is, what is wrong with them for this server and model."""
    server, hosts = service.server, service.hosts
    of_type = check_host_type(service.instance_type, managed=hosts.managed)
    alone = [*of_type, *under(check_hosts(hosts), "hosts")]
    alone = alone or under(check_driver(server, hosts), "hosts")
    if alone:
        return alone
    driver = hosts.driver_version or driver_for(server)
    together = [
        *check_hosts_with(hosts, server=server, model=service.model),
        *check_driver_source(hosts, driver, internet=internet),
    ]
    return under(together, "hosts")


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@rule
def check_service_name(name: str) -> Iterator[Problem]:
    """Check the name of a service, which is also that of its ECS cluster and capacity provider."""
    limits = task_limits()
    prefix = next((prefix for prefix in limits.provider_prefixes if name.lower().startswith(prefix)), None)
    if is_unresolved(name):
        return
    if not _NAME.fullmatch(name) or len(name) > limits.longest_name:
        message, remedy = "ECS rejects this name", "write a short name of letters, digits and hyphens, such as chat"
    elif prefix is not None:
        message = f"ECS reserves names of capacity providers that begin with {prefix!r}"
        remedy = f"write a name with another beginning, such as llm-{name}"
    else:
        return
    allowed = f"1 to {limits.longest_name} letters, digits and hyphens, a letter first"
    yield Problem(code=Code.SERVICE_NAME, path=("name",), message=message, value=name, allowed=allowed, remedy=remedy)


def _check_grace(service: ServiceSpec) -> Iterator[Problem]:
    """Check the health check grace period; `None` is the catalog's default."""
    seconds, longest = service.health_check_grace_seconds, task_limits().grace_seconds_max
    if seconds is not None and not is_unresolved(seconds) and not 0 < seconds <= longest:
        yield service.wrong(
            "health_check_grace_seconds",
            Code.SERVICE_GRACE,
            "ECS would stop each task before its server has loaded the model"
            if seconds <= 0
            else "the grace period is longer than ECS allows",
            "remove it to use the default, or write twice the seconds in which the model loads",
            allowed=f"1 to {longest} seconds",
        )


def _check_sick_hosts(service: ServiceSpec) -> Iterator[Problem]:
    """Check that unhealthy hosts, which are replaced, are detected: by a daemon on hosts of capacity `ec2`."""
    managed = service.hosts.managed
    why = "AWS replaces impaired Managed Instances itself" if managed else "Neuron devices are not monitored"
    if service.replace_sick_hosts and not service.watches_devices:
        yield service.wrong(
            "replace_sick_hosts",
            Code.SERVICE_SICK_HOSTS,
            f"`replace_sick_hosts` has no effect: {why}",
            "remove it" if managed else "remove it, or set neuron_health to true",
        )


_ECR = re.compile(r"[0-9]{12}\.dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)/.+")
"""A private registry: VPC endpoints of ECR reach only private registries in their own region.

Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
"""


@rule
def check_pulled_image(
    image: str | None, *path: PathPart, region: str | None, internet: InternetAccess | None
) -> Iterator[Problem]:
    """Return a problem at `path` when hosts in the network cannot pull `image`.

    `internet`: the network's internet access; `None` when unknown, which passes.
    """
    if internet != InternetAccess.NONE or image is None or is_unresolved(image):
        return
    found = _ECR.fullmatch(image)
    home = region if region is not None and not is_unresolved(region) else None
    if found and (home is None or found["region"] == home):
        return
    where = f"in ECR of {found['region']}" if found else f"at {image.partition('/')[0]}"
    yield Problem(
        code=Code.CLOSED_NETWORK,
        path=path,
        message=f"hosts cannot pull this image {where}: their network has no internet access",
        value=image,
        allowed=f"an image in a private ECR registry of {home or 'the region'}",
        remedy="copy the image to ECR in the region (`docker buildx imagetools create`), or give the network a "
        "NAT gateway",
    )


@rule
def check_closed_network(
    service: ServiceSpec, *, region: str | None, internet: InternetAccess | None
) -> Iterator[Problem]:
    """Return problems of `service` in a network without internet access: image, model, JWKS, public load balancer.

    Images of sidecars are checked separately, by `check_pulled_image`.
    """
    if internet != InternetAccess.NONE:
        return
    image = service.server.image or _public_image(service.server.kind)
    yield from check_pulled_image(image, "server", "image", region=region, internet=internet)
    if service.model.source is ModelSource.HUB:
        yield Problem(
            code=Code.CLOSED_NETWORK,
            path=("model", *service.model.place),
            message="tasks cannot download a model from the Hugging Face Hub: the network has no internet access",
            value=service.model.place_value,
            allowed="a model in S3 or in the image",
            remedy="copy the model to a bucket and write its s3:// URI, or give the network a NAT gateway",
        )
    if service.front.authentication is Authentication.JWT:
        yield Problem(
            code=Code.CLOSED_NETWORK,
            path=("front", "jwt", "jwks_endpoint"),
            message="the load balancer cannot download the issuer's keys: the network has no internet access",
            remedy="use an API key, or give the network a NAT gateway",
        )
    if service.front.public:
        yield service.wrong(
            ("front", "public"),
            Code.CLOSED_NETWORK,
            "a public load balancer needs public subnets, which a network without internet access does not have",
            "remove `public`, or give the network a NAT gateway",
            allowed="false",
        )


def _public_image(kind: ServerKind) -> str | None:
    """Return the default image if it is in a public registry; `None` if it is in private ECR registries."""
    facts = model_servers()[kind]
    return None if facts.accounts else f"{facts.repository}:{facts.tag}"


@rule
def check_thresholds(alarms: Alarms) -> Iterator[Problem]:
    """Return a problem for each threshold that is not a number above 0, or is more than 100 percent."""
    for name in ("time_to_first_token_seconds", "waiting_requests", "server_error_percent"):
        most = 100 if name.endswith("_percent") else math.inf
        allowed = "a number above 0" if most == math.inf else f"a number above 0, up to {most}"
        if not is_positive(getattr(alarms, name), most=most):
            yield alarms.wrong(
                name,
                Code.ALARM_THRESHOLD,
                "with this threshold the alarm would always ring, or never",
                f"write {allowed}, or remove it",
                allowed=allowed,
            )


_TARGETS = ("queue_target", "requests_per_minute_target")


def check_scaling(service: ServiceSpec) -> list[Problem]:
    """Return what is wrong with the numbers of tasks and with the targets, by the attributes of `service`."""
    counts = [*_check_counts(service)]
    targets: list[Problem] = [
        *_check_targets(service.scaling),
        *_check_one_target(service.scaling),
        *([] if counts else _check_target_is_followed(service)),
    ]
    return [*(counts or _check_bounds(service)), *under(targets, "scaling")]


def _check_counts(service: ServiceSpec) -> Iterator[Problem]:
    """A service without tasks cannot scale, since no task would report the metrics of scaling."""
    limit = Limit(minimum=1, maximum=scaling_facts().max_tasks)
    for attribute, what in (
        ("desired", "the number of tasks"),
        ("minimum", "the minimum number of tasks"),
        ("maximum", "the maximum number of tasks"),
    ):
        yield from check_number(getattr(service, attribute), limit, Code.SCALING_COUNT, attribute, what=what)


def _check_bounds(service: ServiceSpec) -> Iterator[Problem]:
    desired, least, most = service.desired, service.minimum, service.maximum
    if is_above(least, most):
        yield service.wrong(
            "minimum",
            Code.SCALING_BOUNDS,
            f"`minimum` is above `maximum`, which is {most}",
            "write a number in the allowed range, or raise the maximum",
            allowed=f"1 to {most}",
        )
    elif is_above(desired, most):
        yield service.wrong(
            "desired",
            Code.SCALING_BOUNDS,
            f"the number of tasks, {desired}, is above `maximum`, which is {most}",
            f"write a number in the allowed range, or write maximum {desired}",
            allowed=f"up to {most}",
        )
    elif is_above(least, desired):
        yield service.wrong(
            "desired",
            Code.SCALING_BOUNDS,
            f"the number of tasks, {desired}, is below `minimum`, which is {least}",
            f"write a number in the allowed range, or write minimum {desired}",
            allowed=f"{least} or more",
        )


def _check_targets(scaling: Scaling) -> Iterator[Problem]:
    usual = scaling_facts().queue_target
    remedies = {
        "queue_target": f"remove it for the default of {usual:g} waiting request per task, or write another number",
        "requests_per_minute_target": "write the requests per minute of one task, or remove it to scale by the queue",
    }
    for target in _TARGETS:
        if not is_positive(getattr(scaling, target)):
            yield scaling.wrong(
                target,
                Code.SCALING_TARGET,
                "the target of scaling must be a number above 0",
                remedies[target],
                allowed="a number above 0",
            )


def _check_one_target(scaling: Scaling) -> Iterator[Problem]:
    if scaling.queue_target is not None and scaling.requests_per_minute_target is not None:
        yield scaling.wrong(
            "requests_per_minute_target",
            Code.SCALING_TWO_TARGETS,
            "set only one of `queue_target` and `requests_per_minute_target`",
            "keep `queue_target`, which takes the length of answers into account, or `requests_per_minute_target`",
        )


def _check_target_is_followed(service: ServiceSpec) -> Iterator[Problem]:
    """A target has no effect when the number of tasks is fixed."""
    tasks, scaling = service.tasks, service.scaling
    if is_unresolved(tasks.maximum) or is_unresolved(tasks.minimum) or tasks.scales:
        return
    for target in _TARGETS:
        if getattr(scaling, target) is not None:
            yield scaling.wrong(
                target,
                Code.SCALING_FIXED,
                f"this target has no effect: the number of tasks is always {tasks.maximum}",
                f"write a `maximum` above {tasks.minimum}, or remove the target",
            )


def address_claims(service: ServiceSpec, *, owner: str, zones: Sequence[str]) -> list[AddressClaim]:
    """Return a claim for each of `zones`, over which the maximum number of hosts is spread.

    Each host has an address, and so has its serving task (network mode `awsvpc`). The load balancer
    is in other subnets. A number that is a CDK token claims nothing.
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
