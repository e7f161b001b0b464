"""An instance group of HyperPod by itself: instance types, image, EFA interfaces, scripts, what CloudFormation can set.

Sources: the resource schema that cfn-lint 1.58 ships, against botocore 1.44's model; a test compares the two. Left
out in silence, such a setting would look as if it were in force.
"""

from collections import Counter
from collections.abc import Iterator

from llm_fleet.catalog.hyperpod import facts_of, group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.instance_type import check_instance_type
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import DeepHealthCheck, PatchingStrategy
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.instance_group import AutoPatch, InstanceGroup


def check_instance_types(group: InstanceGroup) -> list[Problem]:
    """Check that the group has one type, or 1 to 20 flexible ones, and that each exists."""
    if (group.instance_type is None) == (not group.instance_types):
        return [_choice(group)]
    if group.instance_type is not None:
        return [problem.under("instance_type") for problem in check_instance_type(group.instance_type)]
    if is_unresolved(group.instance_types):
        return []
    return [
        *(
            problem.under("instance_types", index)
            for index, name in enumerate(group.instance_types)
            for problem in check_instance_type(name)
        ),
        *_check_number_of_types(group),
        *_check_repeated_types(group),
        *_check_mixed_types(group),
    ]


def check_threads_per_core(group: InstanceGroup) -> list[Problem]:
    """Check that nobody asks for two threads a core of a processor that has one.

    The API takes 1 for every type, and 2 only "for instance types that support multithreading" (API reference).
    """
    threads = group.threads_per_core
    problems = check_number(
        threads, group_limit("ThreadsPerCore"), Code.THREADS_PER_CORE, "threads_per_core", what="threads per core"
    )
    if problems or threads is None or is_unresolved(threads):
        return problems
    single = [
        name
        for name in group.types
        if not is_unresolved(name) and (facts := facts_of(name)) and (facts.threads_per_core or threads) < threads
    ]
    return [
        Problem(
            code=Code.THREADS_PER_CORE,
            message=f"{name} has one thread a core and cannot run {threads}",
            remedy="leave the threads per core out, or write 1",
            path=("threads_per_core",),
            value=threads,
        )
        for name in single
    ]


def _choice(group: InstanceGroup) -> Problem:
    both = bool(group.instance_types)
    return Problem(
        code=Code.INSTANCE_TYPE_CHOICE,
        message="the group has one instance type and flexible ones" if both else "the group has no instance type",
        remedy=(
            "keep the one type, or the list of flexible types by priority, and drop the other"
            if both
            else "write its instance type, e.g. 'ml.trn1.32xlarge'"
        ),
        path=("instance_types",) if both else ("instance_type",),
        value=[group.instance_type, *group.instance_types] if both else None,
    )


def _check_number_of_types(group: InstanceGroup) -> list[Problem]:
    limit = group_limit("InstanceRequirements.InstanceTypes")
    return check_number(
        len(group.instance_types),
        limit,
        Code.INSTANCE_TYPES_NUMBER,
        "instance_types",
        what="the number of flexible instance types",
        remedy=f"keep the {limit.maximum} that you want most: HyperPod tries them in order",
    )


def _check_repeated_types(group: InstanceGroup) -> list[Problem]:
    return [
        Problem(
            code=Code.INSTANCE_TYPES_TWICE,
            message=f"{name} stands {count} times among the flexible instance types",
            remedy="name it once, where its priority is",
            path=("instance_types",),
            value=name,
        )
        for name, count in Counter(group.instance_types).items()
        if count > 1
    ]


def _check_mixed_types(group: InstanceGroup) -> list[Problem]:
    """One image serves the whole group, so its types share an architecture; and a job finds one kind of accelerator.

    The first follows from `ImageId` being the group's; the second is our own rule.
    """
    known = {name: facts for name in group.instance_types if (facts := facts_of(name))}
    kinds = {
        "architecture": {name: facts.architecture for name, facts in known.items()},
        "accelerator": {name: facts.accelerator or "none" for name, facts in known.items()},
    }
    return [
        Problem(
            code=Code.INSTANCE_TYPES_MIXED,
            message=f"the flexible instance types differ in {kind}: "
            + ", ".join(f"{name} has {value}" for name, value in by_name.items()),
            remedy="make a group for each: all groups may share one partition",
            path=("instance_types",),
            value=list(group.instance_types),
            allowed=f"one {kind} in a group",
        )
        for kind, by_name in kinds.items()
        if len(set(by_name.values())) > 1
    ]


DEFAULT_IMAGE = "default"


def check_image(group: InstanceGroup) -> list[Problem]:
    """Check the image's id, the release of HyperPod's own image, and that only one of them is chosen."""
    problems = [*_check_image_id(group.image_id), *_check_release(group.image_release_version)]
    if group.image_id in (None, DEFAULT_IMAGE) or group.image_release_version is None:
        return problems
    return [
        *problems,
        Problem(
            code=Code.IMAGE_RELEASE,
            message="a release is one of HyperPod's own image, and the group has another image",
            remedy="drop the release, or the image",
            path=("image_release_version",),
            value=group.image_release_version,
        ),
    ]


def _check_image_id(image_id: str | None) -> list[Problem]:
    limit = group_limit("ImageId")
    if image_id is None or is_unresolved(image_id) or (limit.matches(image_id) and limit.holds(len(image_id))):
        return []
    return [
        Problem(
            code=Code.IMAGE_ID,
            message="a custom image is named by its AMI id, and this is none",
            remedy="write 'ami-' and 8 or 17 hexadecimal digits, of an image built on HyperPod's; "
            f"{DEFAULT_IMAGE!r} or nothing for HyperPod's own",
            path=("image_id",),
            value=image_id,
            allowed=f"ami-<hexadecimal digits>, or {DEFAULT_IMAGE}",
        )
    ]


def _check_release(version: str | None) -> list[Problem]:
    limit = group_limit("ImageReleaseVersion")
    if version is None or is_unresolved(version) or (limit.matches(version) and limit.holds(len(version))):
        return []
    return [
        Problem(
            code=Code.IMAGE_RELEASE,
            message="a release of HyperPod's image is three numbers with dots between",
            remedy="write it as in '1.2.3', or drop it for the newest",
            path=("image_release_version",),
            value=version,
            allowed="<major>.<minor>.<patch>",
        )
    ]


def check_network_interface(group: InstanceGroup) -> list[Problem]:
    """Check that each instance type has EFA where a kind of EFA interface is asked for."""
    if group.network_interface is None:
        return []
    return [
        Problem(
            code=Code.CLUSTER_INTERFACE,
            message=f"{name} has no EFA interface",
            remedy="leave network_interface out, or take an instance type with EFA",
            path=("network_interface",),
            value=group.network_interface.value,
        )
        for name in group.types
        if (facts := facts_of(name)) is not None and facts.efa_interfaces == 0
    ]


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


def check_cloudformation(group: InstanceGroup) -> list[Problem]:
    """Return what CloudFormation cannot say of `group`, by its attributes: `("auto_patch", "strategy")`."""
    return list(_gaps(group))


def _gaps(group: InstanceGroup) -> Iterator[Problem]:
    if DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION in group.deep_health_checks:
        yield _gap(
            "deep_health_checks",
            value=DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION.value,
            remedy="leave it out here and start it with `aws sagemaker start-cluster-health-check`",
        )
    if group.image_release_version is not None:
        yield _gap(
            "image_release_version",
            value=group.image_release_version,
            remedy="leave it out here and set it with `aws sagemaker update-cluster-software`, or give an image_id",
        )
    if group.auto_patch is not None:
        yield from _gaps_of_patch(group.auto_patch)


def _gaps_of_patch(patch: AutoPatch) -> Iterator[Problem]:
    if patch.strategy is PatchingStrategy.DRAIN_FIRST:
        yield _gap(
            "auto_patch",
            "strategy",
            value=patch.strategy.value,
            remedy="DrainFirst evicts pods and is for EKS; on Slurm use WhenIdle or WhenAllIdle",
        )
    remedy = "leave it out here and set it with `aws sagemaker update-cluster` after the deployment"
    for field, value in (
        ("next_patch_date", patch.next_patch_date),
        ("idle_wait_window_seconds", patch.idle_wait_window_seconds),
        ("drain_timeout_seconds", patch.drain_timeout_seconds),
        ("on_drain_timeout", patch.on_drain_timeout),
    ):
        if value is not None:
            yield _gap("auto_patch", field, value=value, remedy=remedy)


def _gap(*path: PathPart, value: object, remedy: str) -> Problem:
    return Problem(
        code=Code.CLUSTER_NOT_IN_CLOUDFORMATION,
        message=f"CloudFormation cannot set {path[-1]} to this on a Slurm cluster, although HyperPod's API may",
        path=path,
        value=value,
        remedy=remedy,
    )
