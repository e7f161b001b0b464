"""What CloudFormation must be allowed, to create, change and delete the stacks of a fleet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from llm_fleet.catalog.deployment import action_scopes, deploy_facts, deployment_actions, service_linked
from llm_fleet.iam.fleet_templates import FleetTemplates
from llm_fleet.iam.statements import Permission, Place, characters_of
from llm_fleet.rules.deploy_role import check_types
from llm_fleet.rules.problem import raise_problems

_GLOBAL = frozenset({"billing", "budgets", "chatbot", "iam"})
"""Services whose calls are not made in the Region of the stack.

Source: https://docs.aws.amazon.com/general/latest/gr/rande.html
"""
_APART = frozenset({"iam:PassRole", "iam:CreateServiceLinkedRole"})
"""Actions that have statements with conditions of their own."""
_BOUNDED = frozenset(
    {
        "iam:AttachRolePolicy",
        "iam:CreateRole",
        "iam:DeleteRolePolicy",
        "iam:DetachRolePolicy",
        "iam:PutRolePermissionsBoundary",
        "iam:PutRolePolicy",
    }
)
"""Actions with the condition key `iam:PermissionsBoundary`.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html#access_policies_boundaries-delegate
"""
_DATA_LINKS = frozenset({"AWS::FSx::DataRepositoryAssociation"})
"""Types with which FSx creates a service-linked role for a bucket, and writes the policies of this role."""
_UNBOUND = "iam:DeleteRolePermissionsBoundary"
_MORE: Mapping[str, tuple[str, ...]] = {
    # Images of launch templates, and their snapshots, are of another account.
    "ec2": ("ec2:{region}::image/*", "ec2:{region}::snapshot/*"),
    # Dashboards have no Region. Source: Service Authorization Reference, Amazon CloudWatch.
    "cloudwatch": ("cloudwatch::{account}:dashboard/*",),
    # An association is checked for the load balancer, too. Source: Service Authorization Reference, AWS WAF V2.
    "wafv2": ("elasticloadbalancing:{region}:{account}:loadbalancer/app/*",),
}
"""Resources besides those of account and Region, by service."""
_WORDS = 60
"""Actions in one statement, at most: statements are distributed over policies as a whole."""


def execution_permissions(
    templates: FleetTemplates,
    place: Place,
    *,
    assets: str,
    boundary: str | None = None,
    more_actions: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Permission, ...]:
    """Return the permissions to deploy `templates`.

    `assets`: name of the bucket of the CDK's bootstrap. `boundary`: ARN of the policy that each role must have as its
    permissions boundary. `more_actions`: actions of types that are not in the catalog. Raises `FleetError` (LF1253).
    """
    more = more_actions or {}
    known = {kind: more.get(kind) or deployment_actions(kind) for kind in templates.types}
    raise_problems(check_types(templates.types, (kind for kind, found in known.items() if found is not None)))
    actions = frozenset(action for found in known.values() for action in found or ()) - _APART
    return tuple(
        part
        for one in _statements(templates, place, actions, assets=assets, boundary=boundary)
        if one.actions
        for part in _parts(one)
    )


def _statements(
    templates: FleetTemplates, place: Place, actions: frozenset[str], *, assets: str, boundary: str | None
) -> Iterator[Permission]:
    yield from _without_resource(place, actions)
    scopes = action_scopes()
    rest = actions - scopes.none - scopes.named - scopes.object - _wildcards(actions)
    # A name that the templates do not determine is of a type that they do not contain.
    nameless = {action for action in actions & scopes.named if _service(action) not in templates.names}
    yield from _in_account(place, rest)
    yield from _by_name(templates, place, (actions & scopes.named) - nameless, boundary=boundary)
    yield from _roles(templates, place)
    yield from _reads(templates, place, actions, assets=assets)
    if templates.custom:
        functions = _arns(place, templates.names.get("lambda", ()))
        yield Permission(
            sid="CustomResources",
            actions=("lambda:InvokeFunction",) if functions else (),
            resources=functions,
            reason="CloudFormation invokes the functions of the fleet's custom resources with this role",
        )


def _wildcards(actions: Iterable[str]) -> set[str]:
    return {action for action in actions if action.endswith("*")}


def _without_covered(actions: Iterable[str]) -> tuple[str, ...]:
    """Return the actions without those that a wildcard among them contains."""
    starts = tuple(action[:-1] for action in _wildcards(actions))
    return tuple(sorted(action for action in actions if action.endswith("*") or not action.startswith(starts)))


def _without_resource(place: Place, actions: frozenset[str]) -> Iterator[Permission]:
    """Yield the actions that support no resource: those of a Region, and those of services without one."""
    alone = (actions & action_scopes().none) | _wildcards(actions)
    world = {action for action in alone if _service(action) in _GLOBAL}
    yield Permission(
        sid="NoResource",
        actions=_without_covered(alone - world),
        resources=("*",),
        reason="the actions support no resource; the Region limits them",
        conditions={"StringEquals": {"aws:RequestedRegion": place.region}},
    )
    yield Permission(
        sid="NoResourceNoRegion",
        actions=tuple(sorted(world)),
        resources=("*",),
        reason="the actions support no resource, and their services have no Regions",
    )


def _in_account(place: Place, actions: Iterable[str]) -> Iterator[Permission]:
    """Yield a permission for each service whose resources get their ids from the service."""
    for service in sorted({_service(action) for action in actions}):
        region = "" if service in _GLOBAL else "{region}"
        resources = (f"{service}:{region}:{{account}}:*", *_MORE.get(service, ()))
        yield Permission(
            sid=f"{_word(service)}Account",
            actions=tuple(sorted(action for action in actions if _service(action) == service)),
            resources=_arns(place, resources),
            reason="the service chooses the ids of these resources; account and Region limit the actions",
        )


def _by_name(
    templates: FleetTemplates, place: Place, actions: Iterable[str], *, boundary: str | None
) -> Iterator[Permission]:
    """Yield a permission for each service whose resources have names that the templates determine."""
    bound = _BOUNDED | {_UNBOUND} if boundary else frozenset[str]()
    for service in sorted({_service(action) for action in actions}):
        own = tuple(sorted(action for action in actions if _service(action) == service and action not in bound))
        yield Permission(
            sid=f"{_word(service)}Names",
            actions=own,
            resources=_arns(place, templates.names[service]),
            reason="the names are in the fleet's templates, or begin with the fleet's name",
        )
    if boundary:
        yield Permission(
            sid="IamBounded",
            actions=tuple(sorted(_BOUNDED & set(actions))),
            resources=_arns(place, templates.names["iam"]),
            reason="the fleet's roles; each must have the permissions boundary",
            conditions={"StringEquals": {"iam:PermissionsBoundary": boundary}},
        )


def _roles(templates: FleetTemplates, place: Place) -> Iterator[Permission]:
    """Yield the permissions to pass roles, and to create service-linked ones."""
    own = [arn for arn in _arns(place, templates.names.get("iam", ())) if ":role/" in arn]
    yield Permission(
        sid="PassRole",
        actions=("iam:PassRole",) if own and templates.trusted else (),
        resources=tuple(own),
        reason="services get the fleet's own roles, and only services that these roles trust",
        conditions={"StringEquals": {"iam:PassedToService": list(templates.trusted)}},
    )
    yield Permission(
        sid="PassExistingRole",
        actions=("iam:PassRole",) if templates.passed else (),
        resources=templates.passed,
        reason="roles that existed before and that the fleet file names",
    )
    linked = sorted({name for kind in templates.types for name in service_linked(kind)})
    yield Permission(
        sid="ServiceLinkedRoles",
        actions=("iam:CreateServiceLinkedRole",) if linked else (),
        resources=(_arn(place, "iam::{account}:role/aws-service-role/*"),),
        reason="services create their own roles on first use in an account",
        conditions={"StringEquals": {"iam:AWSServiceName": linked}},
    )
    # Source: https://docs.aws.amazon.com/fsx/latest/LustreGuide/setting-up.html#fsx-adding-permissions-s3
    if _DATA_LINKS & templates.types:
        yield Permission(
            sid="DataRepositoryRoles",
            actions=("iam:AttachRolePolicy", "iam:CreateServiceLinkedRole", "iam:PutRolePolicy"),
            resources=(_arn(place, "iam::{account}:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"),),
            reason="FSx for Lustre creates a role of its own for the buckets of data repository associations",
        )


def _reads(templates: FleetTemplates, place: Place, actions: frozenset[str], *, assets: str) -> Iterator[Permission]:
    """Yield the permissions to read assets, and the values in the templates."""
    buckets = [assets] + ([f"{place.region}-aws-parallelcluster"] if templates.provider else [])
    reads = set(actions & action_scopes().object & {"s3:GetObject", "s3:GetObjectVersion"})
    reads |= {"s3:GetObject"} if templates.provider else set[str]()
    yield Permission(
        sid="Assets",
        actions=tuple(sorted(reads)),
        resources=tuple(_arn(place, f"s3:::{name}/*") for name in buckets),
        reason="the code of functions, and nested templates; their names are hashes",
    )
    if templates.provider:
        yield Permission(
            sid="Transform",
            actions=("cloudformation:CreateChangeSet",),
            resources=(_arn(place, "cloudformation:{region}:aws:transform/*"),),
            reason="the template of ParallelCluster's provider has a transform",
        )
    parameters = [
        _arn(
            place,
            f"ssm:{{region}}:{'' if name.startswith('/aws/service/') else '{account}'}:parameter/{name.lstrip('/')}",
        )
        for name in templates.parameters
    ]
    yield Permission(
        sid="Parameters",
        actions=("ssm:GetParameters",) if parameters else (),
        resources=tuple(parameters),
        reason="CloudFormation resolves the parameters of the templates with this role",
    )
    secrets = [
        f"{name}*" if name.startswith("arn:") else _arn(place, f"secretsmanager:{{region}}:{{account}}:secret:{name}*")
        for name in templates.secrets
    ]
    yield Permission(
        sid="Secrets",
        actions=("secretsmanager:GetSecretValue",) if secrets else (),
        resources=tuple(secrets),
        reason="CloudFormation resolves the dynamic references of the templates with this role",
    )


def _service(action: str) -> str:
    return action.partition(":")[0]


def _word(service: str) -> str:
    return "".join(part.capitalize() for part in service.split("-"))


def _arn(place: Place, text: str) -> str:
    filled = text.replace("{region}", place.region).replace("{account}", place.account)
    return f"arn:{place.partition}:{filled}"


def _arns(place: Place, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(_arn(place, text) for text in texts)


def _parts(permission: Permission) -> Iterator[Permission]:
    """Yield a permission, in several parts when it has many actions."""
    count = -(-len(permission.actions) // _WORDS)
    for number in range(count):
        yield Permission(
            sid=permission.sid + (str(number + 1) if count > 1 else ""),
            actions=permission.actions[number * _WORDS : (number + 1) * _WORDS],
            resources=permission.resources,
            reason=permission.reason,
            conditions=permission.conditions,
        )


def in_policies(permissions: Sequence[Permission]) -> tuple[tuple[Permission, ...], ...]:
    """Return the permissions in as few policies as IAM's limit of characters allows, the largest ones first."""
    limit = deploy_facts().policy_characters
    policies: list[list[Permission]] = []
    for one in sorted(permissions, key=lambda each: characters_of([each]), reverse=True):
        fitting = next((policy for policy in policies if characters_of([*policy, one]) <= limit), None)
        if fitting is None:
            policies.append([one])
        else:
            fitting.append(one)
    return tuple(map(tuple, policies))
