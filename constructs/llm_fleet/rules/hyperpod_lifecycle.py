"""The lifecycle scripts of a HyperPod group."""

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup


def check_lifecycle_hooks(group: InstanceGroup) -> list[Problem]:
    """Check that the group has one hook at most, and that its script can be a file beside the others."""
    problems = [
        *_check_script("on_create", "OnCreate", group.on_create),
        *_check_script("on_init_complete", "OnInitComplete", group.on_init_complete),
    ]
    if group.on_create is not None and group.on_init_complete is not None:
        problems.append(
            Problem(
                code=Code.LIFECYCLE_BOTH_HOOKS,
                message="OnCreate and OnInitComplete exclude each other: the first replaces the AMI's configuration, "
                "the second runs after it",
                remedy="keep OnInitComplete and let the AMI set up Slurm, or OnCreate and let the script set it up",
                path=("on_create",),
                value=[group.on_create, group.on_init_complete],
                allowed="one hook in a group",
            )
        )
    return problems


def check_lifecycle_or_script(group: InstanceGroup) -> list[Problem]:
    """Check that a group with a script of its own leaves out when it runs the bundle's."""
    if group.lifecycle is None or group.script is None:
        return []
    return [
        Problem(
            code=Code.CONTRADICTION,
            message="the group names a script of its own, so `lifecycle` has nothing left to say",
            remedy="remove `lifecycle`, or the script",
            path=("lifecycle",),
            value=group.lifecycle.value,
        )
    ]


def check_lifecycle_source(source_s3_uri: str | None, *, has_script: bool) -> list[Problem]:
    """Check `SourceS3Uri`, and that it is there when a group of the request has a script."""
    if source_s3_uri is None:
        return [_no_source()] if has_script else []
    limit = group_limit("LifeCycleConfig.SourceS3Uri")
    if is_unresolved(source_s3_uri):
        return []
    if limit.matches(source_s3_uri) and limit.holds(len(source_s3_uri)):
        return []
    return [
        Problem(
            code=Code.LIFECYCLE_SOURCE,
            message="the place of the lifecycle scripts is no S3 URI"
            if limit.holds(len(source_s3_uri))
            else f"the place of the lifecycle scripts is {len(source_s3_uri)} characters long",
            remedy="write s3://<bucket>/<prefix>/",
            path=("lifecycle_source_s3_uri",),
            value=source_s3_uri,
            allowed=f"s3://… or https://…, {limit.range} characters",
        )
    ]


def _no_source() -> Problem:
    return Problem(
        code=Code.LIFECYCLE_SOURCE,
        message="a group runs a lifecycle script, and nothing says where it lies",
        remedy="write s3://<bucket>/<prefix>/, or drop the script and let the AMI configure the nodes",
        path=("lifecycle_source_s3_uri",),
    )


def _check_script(attribute: str, hook: str, name: str | None) -> list[Problem]:
    if name is None or is_unresolved(name):
        return []
    limit = group_limit(f"LifeCycleConfig.{hook}")
    fault = (
        "is empty"
        if not name.strip()
        else f"is {len(name)} characters long"
        if not limit.holds(len(name))
        else "is a path or an address"
        if "://" in name or name.startswith("/")
        else None
    )
    if fault is None:
        return []
    return [
        Problem(
            code=Code.LIFECYCLE_SCRIPT,
            message=f"the name of the {hook} script {fault}",
            remedy=f"write the file's name within the bundle, e.g. '{attribute}.sh'",
            path=(attribute,),
            value=name,
            allowed=f"{limit.range} characters",
        )
    ]
