"""For each invalid input, fleet file and construct report one error, with the same code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet import (
    ClusterUser,
    CompileCache,
    ContainerEnvironment,
    Downloads,
    ExistingLustre,
    FleetError,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    Lifecycle,
    LifecycleScripts,
    LustreFileSystem,
    NetworkSpec,
    NeuronEnvironment,
    NeuronHost,
    NodeType,
    OpenZfsFileSystem,
    OwnStep,
    OwnSteps,
    S3Mount,
    SlurmConfigStrategy,
    TrainingRuntime,
)
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.spec.training_runtime import AnyEnvironment
from tests.fleet_file.good_fleet import edited
from tests.made_clusters import hyperpod_cluster

HERE = Path(__file__).parent
"""Folder of the fleet files of these tests, with a folder `steps` of the user's own scripts."""
ZONE, OTHER_ZONE = "usw2-az4", "usw2-az2"
WORKERS_LINE = "      workers:"
WITH_CLUSTER = "kind: hyperpod\n    "
FSX_LINE = "size: 4800 GiB, throughput: 250 MB/s/TiB"
CONTROLLER = InstanceGroup.controller("ml.m5.xlarge")
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p"

Construct = Callable[[cdk.Stack], Any]


def workers(instance_type: str = "ml.trn1.32xlarge", **options: Any) -> InstanceGroup:
    given: dict[str, Any] = {"count": 4, "partition": "trn1"} | options
    return InstanceGroup.workers("workers", instance_type, **given)


def cluster(*groups: InstanceGroup, compute_cidr: str = "10.1.0.0/16", **options: Any) -> Construct:
    def make(stack: cdk.Stack) -> None:
        network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE], compute_cidr=compute_cidr))
        hyperpod_cluster(stack, "Train", network=network, groups=groups or (CONTROLLER, workers()), **options)

    return make


def apart(*, group: str | None, whole: str | None) -> Construct:
    """A cluster, or one group of it, in another AZ than its file system."""

    def make(stack: cdk.Stack) -> None:
        network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE, OTHER_ZONE]))
        groups = (CONTROLLER, workers(availability_zone_id=group))
        fsx = LustreFileSystem(stack, "Fsx", network=network)
        HyperPodCluster(
            stack, "Train", HyperPodClusterSpec(groups=groups, availability_zone_id=whole), network=network, lustre=fsx
        )

    return make


def without_vpc(stack: cdk.Stack) -> None:
    fsx = LustreFileSystem.from_attributes(
        stack, "Fsx", ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcd1234")
    )
    HyperPodCluster(stack, "Train", HyperPodClusterSpec(groups=(CONTROLLER, workers())), network=None, lustre=fsx)


def foreign_bucket(stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "my-scripts")
    cluster(scripts=LifecycleScripts(bucket=bucket))(stack)


@dataclass(frozen=True, kw_only=True)
class Bad:
    code: str
    edits: Sequence[str]
    construct: Construct = field(repr=False)


def worker(code: str, old: str, new: str, **options: Any) -> Bad:
    """An error in the group of workers."""
    return Bad(code=code, edits=(old, new), construct=cluster(CONTROLLER, workers(**options)))


def added(code: str, lines: str, *groups: InstanceGroup) -> Bad:
    """An error that additional groups cause."""
    return Bad(
        code=code, edits=(WORKERS_LINE, f"{lines}{WORKERS_LINE}"), construct=cluster(CONTROLLER, *groups, workers())
    )


def misnamed(code: str, name: str) -> Bad:
    group = InstanceGroup.workers(name, "ml.trn1.32xlarge", count=4)
    return Bad(code=code, edits=("workers:", f"{name}:"), construct=cluster(CONTROLLER, group))


def setting(code: str, lines: str, **options: Any) -> Bad:
    """An error in the settings of nodes."""
    return Bad(code=code, edits=("kind: hyperpod", f"{WITH_CLUSTER}{lines}"), construct=cluster(**options))


def own_step(code: str, line: str, **step: Any) -> Bad:
    """An error in a custom step."""
    given: dict[str, Any] = {"script": "a.sh"} | step
    scripts = LifecycleScripts(own=OwnSteps(folder=HERE / "steps", steps=[OwnStep(**given)]))
    return setting(code, f"scripts: {{own: {{folder: steps, steps: {{{line}}}}}}}", scripts=scripts)


def s3_mounts(*mounts: dict[str, Any]) -> Construct:
    def make(stack: cdk.Stack) -> None:
        bucket = s3.Bucket.from_bucket_name(stack, "Data", "my-data")
        cluster(s3_mounts=[S3Mount(bucket=bucket, **mount) for mount in mounts])(stack)

    return make


MANY = range(99)
LOGINS = (InstanceGroup.login("ml.m5.large", name="a"), InstanceGroup.login("ml.m5.large", name="b"))


def training(code: str, lines: str, *environments: AnyEnvironment, **runtime: Any) -> Bad:
    """An error in the training settings of a cluster with the file's Lustre file system."""

    def make(stack: cdk.Stack) -> None:
        network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
        fsx = LustreFileSystem(stack, "Fsx", network=network)
        given: dict[str, Any] = {"environments": environments} | runtime
        HyperPodCluster(
            stack,
            "Train",
            HyperPodClusterSpec(groups=(CONTROLLER, workers()), training=TrainingRuntime(**given)),
            network=network,
            lustre=fsx,
        )

    return Bad(code=code, edits=("kind: hyperpod", f"{WITH_CLUSTER}training: {{{lines}}}"), construct=make)


TRAINING = {
    "a training folder that nodes do not share": training("LF801", "folder: /opt/x", folder="/opt/x"),
    "a training environment without a group": training(
        "LF803",
        "environments: {a: {kind: container, image: 'x/y:1', groups: []}}",
        ContainerEnvironment(name="a", image="x/y:1", groups=[]),
    ),
    "a training stack for other instances": training(
        "LF807",
        "environments: {a: {kind: neuron, stack: torchneuron, groups: [workers]}}",
        NeuronEnvironment(name="a", stack="torchneuron", groups=["workers"]),
    ),
    "a training environment without downloads": training(
        "LF813", "environments: {a: neuron}", NeuronEnvironment(name="a")
    ),
    "a container image without a fixed tag": training(
        "LF817",
        "environments: {a: {kind: container, image: 'x/y:latest'}}",
        ContainerEnvironment(name="a", image="x/y:latest"),
    ),
    "a token in a variable": training("LF818", "variables: {HF_TOKEN: x}", variables={"HF_TOKEN": "x"}),
    "processes of an unknown group": training("LF821", "processes: {w: 2}", processes={"w": 2}),
    "a compile cache of zero days": training(
        "LF820", "compile_cache: {max_age: 0 days}", compile_cache=CompileCache(max_age_days=0)
    ),
}

BAD: dict[str, Bad] = {
    "a type without ml.": worker("LF505", "ml.trn1", "trn1", instance_type="trn1.32xlarge"),
    "inf2": worker("LF506", "ml.trn1.32xlarge", "ml.inf2.xlarge", instance_type="ml.inf2.xlarge"),
    "inf1": worker("LF506", "ml.trn1.32xlarge", "ml.inf1.xlarge", instance_type="ml.inf1.xlarge"),
    "a misspelled type": worker("LF507", "trn1.32xlarge", "trn1.23xlarge", instance_type="ml.trn1.23xlarge"),
    "two controllers": added(
        "LF513",
        "      second: {role: controller, type: ml.m5.xlarge, count: 1}\n",
        InstanceGroup.controller("ml.m5.xlarge", name="second"),
    ),
    "no controller": Bad(
        code="LF512",
        edits=("role: controller", "role: login"),
        construct=cluster(InstanceGroup.login("ml.m5.xlarge"), workers()),
    ),
    "no groups": Bad(
        code="LF503",
        edits=(
            "    groups:\n      controller: {role: controller, type: ml.m5.xlarge, count: 1}\n"
            "      workers: {role: compute, type: ml.trn1.32xlarge, count: 4, partition: trn1}\n",
            "    groups: {}\n",
        ),
        construct=lambda stack: HyperPodCluster(stack, "Train", HyperPodClusterSpec(groups=()), network=None),
    ),
    "two login groups": added(
        "LF515",
        "".join(f"      {name}: {{role: login, type: ml.m5.large, count: 1}}\n" for name in "ab"),
        *LOGINS,
    ),
    "a partition on a controller": Bad(
        code="LF517",
        edits=("ml.m5.xlarge, count: 1", "ml.m5.xlarge, count: 1, partition: a"),
        construct=cluster(
            InstanceGroup.controller("ml.m5.xlarge", name="a", partition="a"),
            workers(),
        ),
    ),
    "a compute group without a partition": Bad(
        code="LF516",
        edits=(", partition: trn1", ""),
        construct=cluster(
            CONTROLLER, InstanceGroup(name="a", node_type=NodeType.COMPUTE, instance_type="ml.trn1.32xlarge", count=1)
        ),
    ),
    "OnCreate with a script for OnInitComplete": worker(
        "LF522", "count: 4", "count: 4, on_create: a.sh, on_init_complete: b.sh", on_create="a.sh", on_init_complete="b"
    ),
    "a strategy with continuous provisioning": Bad(
        code="LF525",
        edits=("kind: hyperpod", f"{WITH_CLUSTER}slurm_config: Merge"),
        construct=cluster(slurm_config_strategy=SlurmConfigStrategy.MERGE),
    ),
    "Lustre without a VPC": Bad(
        code="LF529",
        edits=("network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}", "network: none"),
        construct=without_vpc,
    ),
    "a new Lustre file system without a network": Bad(
        code="LF529",
        edits=("network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}", "network: none"),
        construct=lambda stack: LustreFileSystem(stack, "Fsx", network=None),  # pyright: ignore[reportArgumentType]
    ),
    "a new OpenZFS file system without a network": Bad(
        code="LF529",
        edits=(
            "network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}",
            "network: none",
            f"fsx: {{{FSX_LINE}}}",
            "home: {}",
        ),
        construct=lambda stack: OpenZfsFileSystem(stack, "Home", network=None),  # pyright: ignore[reportArgumentType]
    ),
    "40 p5 in a /24": Bad(
        code="LF220",
        edits=("ml.trn1.32xlarge, count: 4", "ml.p5.48xlarge, count: 40"),
        construct=cluster(CONTROLLER, workers("ml.p5.48xlarge", count=40), compute_cidr="10.1.0.0/24"),
    ),
    "a group in another AZ than its file system": Bad(
        code="LF534",
        edits=(
            *("az: usw2-az4, compute_cidr: 10.1.0.0/23", f"azs: [{ZONE}, {OTHER_ZONE}]"),
            *("count: 4", f"count: 4, az: {OTHER_ZONE}"),
        ),
        construct=apart(group=OTHER_ZONE, whole=None),
    ),
    "all groups in another AZ than their file system": Bad(
        code="LF534",
        edits=(
            *("az: usw2-az4, compute_cidr: 10.1.0.0/23", f"azs: [{ZONE}, {OTHER_ZONE}]"),
            *("kind: hyperpod", f"{WITH_CLUSTER}az: {OTHER_ZONE}"),
        ),
        construct=apart(group=None, whole=OTHER_ZONE),
    ),
    "a bucket without the prefix": Bad(
        code="LF401",
        edits=("kind: hyperpod", f"{WITH_CLUSTER}scripts: {{bucket: my-scripts}}"),
        construct=foreign_bucket,
    ),
    "a cluster name too long": Bad(
        code="LF500", edits=("  ml:", f"  {'m' * 64}:"), construct=cluster(cluster_name="m" * 64)
    ),
    "a cluster name with an underscore": Bad(
        code="LF500", edits=("  ml:", "  m_l:"), construct=cluster(cluster_name="m_l")
    ),
    "a group name too long": misnamed("LF501", "w" * 64),
    "a group name with an underscore": misnamed("LF501", "wor_kers"),
    "101 groups": added(
        "LF503",
        "".join(f"      w{n}: {{role: compute, type: ml.c5.large, count: 0, partition: w{n}}}\n" for n in MANY),
        *(InstanceGroup.workers(f"w{n}", "ml.c5.large", count=0) for n in MANY),
    ),
    "a negative count": worker("LF518", "count: 4", "count: -1", count=-1),
    "a minimum above the count": worker("LF520", "count: 4", "count: 4, min_count: 5", min_count=5),
    "an invalid image id": worker("LF553", "count: 4", "count: 4, image: img-1", image_id="img-1"),
    "a user name of the system": setting(
        "LF412", "users: {root: {uid: 2001}}", users=[ClusterUser(name="root", uid=2001)]
    ),
    "a user id of the system": setting("LF413", "users: {ada: {uid: 1000}}", users=[ClusterUser(name="ada", uid=1000)]),
    "two users with one id": setting(
        "LF414",
        "users: {ada: {uid: 2001}, grace: {uid: 2001}}",
        users=[ClusterUser(name="ada", uid=2001), ClusterUser(name="grace", uid=2001)],
    ),
    "an invalid SSH key": setting(
        "LF415",
        "users: {ada: {uid: 2001, ssh_keys: [mine]}}",
        users=[ClusterUser(name="ada", uid=2001, ssh_public_keys=["mine"])],
    ),
    "a Slurm account in capitals": setting(
        "LF416",
        "users: {ada: {uid: 2001, account: Research}}",
        users=[ClusterUser(name="ada", uid=2001, slurm_account="Research")],
    ),
    "an S3 mount for an unknown group": Bad(
        code="LF417",
        edits=("kind: hyperpod", f"{WITH_CLUSTER}s3_mounts: [{{bucket: data, mount: /s3, groups: [worker]}}]"),
        construct=s3_mounts({"mount_path": "/s3", "groups": ["worker"]}),
    ),
    "two S3 mounts with one path": Bad(
        code="LF418",
        edits=(
            "kind: hyperpod",
            f"{WITH_CLUSTER}s3_mounts: [{{bucket: data, mount: /s3}}, {{bucket: data, mount: /s3/a}}]",
        ),
        construct=s3_mounts({"mount_path": "/s3"}, {"mount_path": "/s3/a"}),
    ),
    "an unknown step to skip": setting(
        "LF421",
        "scripts: {skip: [mount_luster]}",
        scripts=LifecycleScripts(skip_steps=["mount_luster"]),
    ),
    "a custom step with the name of a shipped step": own_step("LF422", "users: {script: a.sh}", name="users"),
    "custom steps with circular needs": own_step("LF423", "a: {script: a.sh, needs: [a]}", name="a", needs=["a"]),
    "a custom step without a role": own_step("LF424", "a: {script: a.sh, roles: []}", name="a", roles=[]),
    "a custom step without its script": own_step("LF425", "a: {script: b.sh}", name="a", script="b.sh"),
    "a custom step with a timeout that is too long": own_step(
        "LF426", "a: {script: a.sh, timeout: 24 h}", name="a", timeout_seconds=86400
    ),
    "a missing lock file": setting(
        "LF427", "downloads: {lock: nowhere.json}", downloads=Downloads(lock=HERE / "nowhere.json")
    ),
    "users without lifecycle scripts": setting(
        "LF429",
        "lifecycle: none\n    users: {ada: {uid: 2001}}",
        lifecycle=Lifecycle.NONE,
        users=[ClusterUser(name="ada", uid=2001)],
    ),
    "an unknown Neuron release": setting("LF450", 'neuron: {release: "1.0"}', neuron=NeuronHost(release="1.0")),
    "Neuron packages that are not in the downloads": setting(
        "LF453",
        'neuron: {release: "2.28.1", host: install}',
        neuron=NeuronHost(release="2.28.1", install=True),
    ),
    **TRAINING,
    "a training plan of another region": worker(
        "LF542", "count: 4", f"count: 4, training_plan: '{PLAN}'", training_plan_arn=PLAN
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_fleet_file_and_construct_report_one_error_with_the_same_code(stack: cdk.Stack, what: str) -> None:
    bad = BAD[what]
    with pytest.raises(FleetError) as by_file:
        parse_fleet(edited(*bad.edits), directory=HERE)
    with pytest.raises(FleetError) as by_construct:
        bad.construct(stack)
    assert [problem.code.value for problem in by_file.value.problems] == [bad.code], by_file.value
    assert [problem.code.value for problem in by_construct.value.problems] == [bad.code], by_construct.value
    for error in (by_file.value, by_construct.value):
        assert error.problems[0].remedy
        assert error.subject


def test_the_cluster_of_these_tests_is_valid(stack: cdk.Stack) -> None:
    cluster()(stack)


@pytest.mark.parametrize("count", ["4", 4.5, True], ids=repr)
def test_an_invalid_number_is_rejected_at_its_field(count: Any) -> None:
    with pytest.raises(FleetError) as caught:
        workers(count=count)
    assert [(problem.code.value, problem.path) for problem in caught.value.problems] == [("LF113", ("count",))]
