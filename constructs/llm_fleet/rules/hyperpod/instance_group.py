"""Rules of a HyperPod instance group: name, partition, counts, instance types, image, EFA interfaces, scripts."""

from collections.abc import Iterator

from llm_fleet.catalog.hyperpod import facts_of, group_limit, hyperpod_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.instance_type import check_instance_type
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.values import check_hyphenated_name, check_number, fix_hyphenated_name, repeated
from llm_fleet.spec.instance_group import InstanceGroup


def check_group_name(group: InstanceGroup) -> list[Problem]:
    """Check `InstanceGroupName`, which has the same format."""
    limit = group_limit("InstanceGroupName")
    return check_hyphenated_name(group.name, limit, Code.GROUP_NAME, "name", what="instance group name")


def check_partition_name(group: InstanceGroup) -> list[Problem]:
    """Check the name of the group's partition: HyperPod's format, and not reserved by slurm.conf or HyperPod."""
    name = group.partition
    if not name and group.node_type is NodeType.COMPUTE:  # `check_partition` reports a missing one.
        return []
    limit = group_limit("SlurmConfig.PartitionNames[]")
    problems = check_hyphenated_name(name, limit, Code.PARTITION_NAME, "partition", what="partition name")
    reserved = hyperpod_facts().reserved_partitions
    if problems or name is None or is_unresolved(name) or name.casefold() not in reserved:
        return problems
    taken = f"the partition name is reserved: {reserved[name.casefold()]}"
    remedy = f"write another name, e.g. `{group.name}`"
    return [group.wrong("partition", Code.PARTITION_NAME, taken, remedy)]


@rule
def check_controller_count(group: InstanceGroup) -> Iterator[Problem]:
    """Check that the controller group has one instance.

    Several controllers require the legacy configuration by provisioning_parameters.json, which llm-fleet does not
    write, and Continuous provisioning does not support them (developer guide).
    """
    if group.node_type is not NodeType.CONTROLLER or is_unresolved(group.count) or group.count == 1:
        return
    if not check_counts(group):  # A number that is wrong for any group is reported already.
        yield group.wrong(
            "count",
            Code.CONTROLLER_COUNT,
            f"the controller group has {group.count} instances; one instance runs slurmctld",
            "write 1; several controllers require the legacy Slurm configuration, which llm-fleet does not support",
            allowed="1",
        )


@rule
def check_partition(group: InstanceGroup) -> Iterator[Problem]:
    """Check that compute groups have a partition, and other groups have none."""
    if group.node_type is NodeType.COMPUTE and not group.partition:
        limit = group_limit("SlurmConfig.PartitionNames[]")
        yield group.wrong(
            "partition",
            Code.PARTITION_MISSING,
            "`partition` is required for a compute group: without it, no job can run on the group",
            f"write a partition, e.g. `{fix_hyphenated_name(group.name, limit) or 'workers'}`",
        )
    elif not is_unresolved(group.node_type) and group.node_type is not NodeType.COMPUTE and group.partition is not None:
        yield group.wrong(
            "partition",
            Code.PARTITION_MISPLACED,
            f"a {group.node_type.lower()} group cannot have a partition: only compute groups have one",
            "remove the partition here; write it in a compute group",
            allowed="a partition for compute groups only",
        )


def check_counts(group: InstanceGroup) -> list[Problem]:
    """Check the number of instances and the minimum."""
    count, least = group.count, group.min_count
    problems = [
        *check_number(count, group_limit("InstanceCount"), Code.INSTANCE_COUNT, "count", what="the count"),
        *check_number(least, group_limit("MinInstanceCount"), Code.MIN_COUNT, "min_count", what="the minimum count"),
    ]
    if problems or least is None or is_unresolved((count, least)) or least <= count:
        return problems
    return [
        group.wrong(
            "min_count",
            Code.MIN_COUNT_ABOVE_COUNT,
            f"`min_count` {least} is above `count` {count}",
            f"write {count} or less, or increase `count` to {least}",
            allowed=f"0 to {count}",
        )
    ]


@rule
def check_instance_types(group: InstanceGroup) -> Iterator[Problem]:
    """Check that the group has one type, or 1 to 20 flexible ones, and that each exists."""
    one, several = group.instance_type, group.instance_types
    if one is None and not several:
        yield group.wrong(
            "instance_type",
            Code.INSTANCE_TYPE_CHOICE,
            "the group has no instance type",
            "write its instance type, e.g. `ml.trn1.32xlarge`",
        )
    elif one is not None and several:
        yield group.wrong(
            "instance_types",
            Code.INSTANCE_TYPE_CHOICE,
            "the group has both one instance type and flexible instance types",
            "keep either `type` or `types`, the list of flexible types by priority",
            value=[one, *several],
        )
    elif one is not None:
        yield from (problem.under("instance_type") for problem in check_instance_type(one))
    elif not is_unresolved(several):
        for index, name in enumerate(several):
            yield from (problem.under("instance_types", index) for problem in check_instance_type(name))
        yield from _check_flexible_types(group)


def _check_flexible_types(group: InstanceGroup) -> Iterator[Problem]:
    """Check their number, that each is listed once, and that they share an architecture and accelerator.

    One image serves the whole group (`ImageId`), so its types must share an architecture. That they share a kind of
    accelerator is our own rule: a job then runs on any node.
    """
    limit = group_limit("InstanceRequirements.InstanceTypes")
    yield from check_number(
        len(group.instance_types),
        limit,
        Code.INSTANCE_TYPES_NUMBER,
        "instance_types",
        what="the number of flexible instance types",
        remedy=f"keep at most {limit.maximum}: HyperPod tries them in order",
    )
    for name, count in repeated(group.instance_types).items():
        yield group.wrong(
            "instance_types",
            Code.INSTANCE_TYPES_TWICE,
            f"{name} is listed {count} times in the flexible instance types",
            "list it once, at the position of its priority",
            value=name,
        )
    known = {name: facts for name in group.instance_types if (facts := facts_of(name))}
    kinds = {
        "architecture": {name: facts.architecture for name, facts in known.items()},
        "accelerator": {name: facts.accelerator or "none" for name, facts in known.items()},
    }
    for kind, by_name in kinds.items():
        if len(set(by_name.values())) > 1:
            differing = ", ".join(f"{name} has {value}" for name, value in by_name.items())
            yield group.wrong(
                "instance_types",
                Code.INSTANCE_TYPES_MIXED,
                f"the flexible instance types differ in {kind}: {differing}",
                "write a group for each: all groups can share one partition",
                allowed=f"one {kind} in a group",
            )


@rule
def check_threads_per_core(group: InstanceGroup) -> Iterator[Problem]:
    """Check that the processor supports the number of threads per core.

    The API accepts 1 for every type, and 2 only "for instance types that support multithreading" (API reference).
    """
    threads, limit = group.threads_per_core, group_limit("ThreadsPerCore")
    problems = check_number(threads, limit, Code.THREADS_PER_CORE, "threads_per_core", what="threads per core")
    yield from problems
    if problems or threads is None or is_unresolved(threads):
        return
    for name in group.types:
        facts = None if is_unresolved(name) else facts_of(name)
        if facts is not None and (facts.threads_per_core or threads) < threads:
            yield group.wrong(
                "threads_per_core",
                Code.THREADS_PER_CORE,
                f"{name} has one thread per core, and does not support {threads}",
                "remove the threads per core, or write 1",
            )


DEFAULT_IMAGE = "default"


@rule
def check_image(group: InstanceGroup) -> Iterator[Problem]:
    """Check the AMI ID, the release of the HyperPod image, and that only one of them is given."""
    yield from _check_image_id(group.image_id)
    yield from _check_release(group.image_release_version)
    if group.image_id not in (None, DEFAULT_IMAGE) and group.image_release_version is not None:
        yield group.wrong(
            "image_release_version",
            Code.IMAGE_RELEASE,
            "a release is a release of the HyperPod image, but the group has a custom image",
            "remove the release, or the image",
        )


def _check_image_id(image_id: str | None) -> Iterator[Problem]:
    limit = group_limit("ImageId")
    if image_id is None or is_unresolved(image_id) or limit.fits(image_id):
        return
    yield Problem(
        code=Code.IMAGE_ID,
        message="this is not the AMI ID of a custom image",
        remedy="write `ami-` and 8 or 17 hexadecimal digits, of an image that is based on the HyperPod image; "
        f"{DEFAULT_IMAGE!r} or nothing for the HyperPod image itself",
        path=("image_id",),
        value=image_id,
        allowed=f"ami-<hexadecimal digits>, or {DEFAULT_IMAGE}",
    )


def _check_release(version: str | None) -> Iterator[Problem]:
    limit = group_limit("ImageReleaseVersion")
    if version is None or is_unresolved(version) or limit.fits(version):
        return
    yield Problem(
        code=Code.IMAGE_RELEASE,
        message="a release of the HyperPod image is three numbers separated by dots",
        remedy="write e.g. `1.2.3`, or remove it for the newest",
        path=("image_release_version",),
        value=version,
        allowed="<major>.<minor>.<patch>",
    )


@rule
def check_network_interface(group: InstanceGroup) -> Iterator[Problem]:
    """Check that each instance type supports EFA when an EFA interface type is given."""
    if group.network_interface is not None:
        for name in group.types:
            if (facts := facts_of(name)) is not None and facts.efa_interfaces == 0:
                yield group.wrong(
                    "network_interface",
                    Code.CLUSTER_INTERFACE,
                    f"{name} does not support EFA",
                    "remove network_interface, or write an instance type with EFA",
                )


@rule
def check_lifecycle_hooks(group: InstanceGroup) -> Iterator[Problem]:
    """Check that the group has at most one hook, and that its script is a file of the bundle."""
    yield from _check_script("on_create", "OnCreate", group.on_create)
    yield from _check_script("on_init_complete", "OnInitComplete", group.on_init_complete)
    if group.on_create is not None and group.on_init_complete is not None:
        yield group.wrong(
            "on_create",
            Code.LIFECYCLE_BOTH_HOOKS,
            "OnCreate and OnInitComplete exclude each other: the first replaces the AMI's configuration, "
            "the second runs after it",
            "keep OnInitComplete, and the AMI configures Slurm, or keep OnCreate, and the script configures it",
            allowed="one hook per group",
            value=[group.on_create, group.on_init_complete],
        )


@rule
def check_lifecycle_or_script(group: InstanceGroup) -> Iterator[Problem]:
    """Check that a group with its own script has no `lifecycle`."""
    if group.lifecycle is not None and group.script is not None:
        yield group.wrong(
            "lifecycle",
            Code.CONTRADICTION,
            "the group has its own script, so `lifecycle` has no effect",
            "remove `lifecycle`, or the script",
        )


@rule
def check_lifecycle_source(source_s3_uri: str | None) -> Iterator[Problem]:
    """Check `SourceS3Uri`."""
    limit, path = group_limit("LifeCycleConfig.SourceS3Uri"), ("lifecycle_source_s3_uri",)
    if source_s3_uri is not None and not is_unresolved(source_s3_uri) and not limit.fits(source_s3_uri):
        yield Problem(
            code=Code.LIFECYCLE_SOURCE,
            message="the location of the lifecycle scripts is not an S3 URI"
            if limit.holds(len(source_s3_uri))
            else f"the location of the lifecycle scripts is {len(source_s3_uri)} characters long",
            remedy="write s3://<bucket>/<prefix>/",
            path=path,
            value=source_s3_uri,
            allowed=f"s3://… or https://…, {limit.range} characters",
        )


def _check_script(attribute: str, hook: str, name: str | None) -> Iterator[Problem]:
    if name is None or is_unresolved(name):
        return
    limit = group_limit(f"LifeCycleConfig.{hook}")
    fault = (
        "is empty"
        if not name.strip()
        else f"is {len(name)} characters long"
        if not limit.holds(len(name))
        else "is a path or a URL"
        if "://" in name or name.startswith("/")
        else None
    )
    if fault is not None:
        yield Problem(
            code=Code.LIFECYCLE_SCRIPT,
            message=f"the name of the {hook} script {fault}",
            remedy=f"write the file's name within the bundle, e.g. `{attribute}.sh`",
            path=(attribute,),
            value=name,
            allowed=f"{limit.range} characters",
        )
