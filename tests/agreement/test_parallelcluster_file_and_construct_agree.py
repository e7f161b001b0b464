"""For each invalid input of a ParallelCluster, fleet file and construct report one error, with the same code."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet import (
    CapacityReservation,
    CapacityType,
    ClusterUser,
    ComputeResource,
    DeployedConfiguration,
    Downloads,
    ExistingOpenZfs,
    FleetError,
    FleetNetwork,
    HeadNode,
    InternetAccess,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    NeuronHost,
    NodeScripts,
    OpenZfsFileSystem,
    ParallelCluster,
    ParallelClusterSpec,
    PlacementGroup,
    Queue,
    RootVolume,
    S3Mount,
    SharedStorage,
    SlurmSettings,
)
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.terms import StorageKind
from llm_fleet_local.parallelcluster.client import Oracle
from llm_fleet_stacks.cluster_stacks import ParallelClusterStack
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.fleet_file.good_parallelcluster import edited
from tests.made_clusters import parallel_cluster
from tools.synth_environment import cdk_context

HERE = Path(__file__).parent
ZONE, OTHER_ZONE = "usw2-az4", "usw2-az2"
HEAD = HeadNode(instance_type="m5.xlarge")
KIND = "kind: parallelcluster"
QUEUE = "type: trn1.32xlarge, max: 4"
BLOCK = CapacityReservation.id("cr-0123456789abcdef0")

Construct = Callable[[cdk.Stack], Any]


def trn1(name: str = "trn1", **options: Any) -> Queue:
    """A queue as in the fleet file; `options` are fields of the queue, and `resource` has the fields of its nodes."""
    resource: dict[str, Any] = {"instance_types": ["trn1.32xlarge"], "max_count": 4} | options.pop("resource", {})
    return Queue(name=name, resources=[ComputeResource(name=name, **resource)], **options)


def cluster(make_queues: Callable[[], Sequence[Queue]] = lambda: [trn1()], **options: Any) -> Construct:
    def make(stack: cdk.Stack) -> ParallelCluster:
        network = FleetNetwork(
            stack,
            "Network",
            NetworkSpec(availability_zone_ids=[ZONE], compute_cidr=options.pop("compute_cidr", "10.1.0.0/24")),
        )
        given: dict[str, Any] = {"head_node": HEAD, "cluster_name": "pc"} | options
        return parallel_cluster(stack, "Pc", network=network, queues=make_queues(), **given)

    return make


def storage(**options: Any) -> Construct:
    return lambda stack: cluster(shared_storage=[SharedStorage(name="data", **options)])(stack)


@dataclass(frozen=True, kw_only=True)
class Bad:
    code: str
    edits: Sequence[str]
    construct: Construct = field(repr=False)


def queue(code: str, new: str, **options: Any) -> Bad:
    """An error in the queue."""
    return Bad(code=code, edits=(QUEUE, new), construct=cluster(lambda: [trn1(**options)]))


def setting(code: str, lines: str, **options: Any) -> Bad:
    """An error in a setting of the cluster."""
    return Bad(code=code, edits=(KIND, f"{KIND}\n    {lines}"), construct=cluster(**options))


def stored(code: str, line: str, **options: Any) -> Bad:
    """An error in shared storage."""
    return Bad(code=code, edits=(KIND, f"{KIND}\n    storage: {{data: {{{line}}}}}"), construct=storage(**options))


def closed(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE], internet=InternetAccess.NONE))
    ParallelCluster(stack, "Pc", ParallelClusterSpec(head_node=HEAD, queues=[trn1()]), network=network)


def below_fsx(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=4800), network=network)
    apps = SharedStorage.managed_ebs("data", mount_dir="/fsx/apps", size_gib=200)
    ParallelCluster(
        stack,
        "Pc",
        ParallelClusterSpec(head_node=HEAD, queues=[trn1()], shared_storage=[apps]),
        network=network,
        lustre=lustre,
    )


def home_without_volume(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
    home = OpenZfsFileSystem.from_attributes(stack, "Home", ExistingOpenZfs(file_system_id="fs-0123456789abcdef0"))
    ParallelCluster(stack, "Pc", ParallelClusterSpec(head_node=HEAD, queues=[trn1()]), network=network, open_zfs=home)


def fleet_lustre(stack: cdk.Stack) -> None:
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
    LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=5000), network=network)


def foreign_bucket_mount(stack: cdk.Stack) -> None:
    mount = S3Mount(bucket=s3.Bucket.from_bucket_name(stack, "Data", "my-data"), mount_path="/s3", groups=["trn2"])
    cluster(s3_mounts=[mount])(stack)


MANY = [f"q{index}" for index in range(51)]
LUSTRE = "type: FsxLustre, mount: /data"

BAD: dict[str, Bad] = {
    "the talk's operating system": setting("LF618", "os: alinux2", os="alinux2"),
    "pbs": setting("LF617", "scheduler: pbs", scheduler="pbs"),
    "a queue name of 26 characters": Bad(
        code="LF611",
        edits=("      trn1:", f"      {'q' * 26}:"),
        construct=cluster(lambda: [Queue(name="q" * 26, resources=trn1().compute_resources)]),
    ),
    "51 queues": Bad(
        code="LF613",
        edits=(
            f"      trn1: {{{QUEUE}}}\n",
            "".join(f"      {name}: {{type: c5.xlarge, max: 1}}\n" for name in MANY),
        ),
        construct=cluster(lambda: [Queue.cpu(name, instance_type="c5.xlarge", max_count=1) for name in MANY]),
    ),
    "the fleet's FSx of 5000 GiB": Bad(
        code="LF302", edits=("clusters:", "storage: {fsx: {size: 5000 GiB}}\nclusters:"), construct=fleet_lustre
    ),
    "FSx of 5000 GiB": stored(
        "LF653",
        f"{LUSTRE}, settings: {{StorageCapacity: 5000, DeploymentType: SCRATCH_2}}",
        kind=StorageKind.FSX_LUSTRE,
        mount_dir="/data",
        settings={"StorageCapacity": 5000, "DeploymentType": "SCRATCH_2"},
    ),
    "an id together with a size": stored(
        "LF652",
        f"{LUSTRE}, id: fs-0123456789abcdef0, settings: {{StorageCapacity: 4800}}",
        kind=StorageKind.FSX_LUSTRE,
        mount_dir="/data",
        existing_id="fs-0123456789abcdef0",
        settings={"StorageCapacity": 4800},
    ),
    "EFA on trn1.2xlarge": queue(
        "LF626",
        "type: trn1.2xlarge, max: 4, efa: true",
        resource={"instance_types": ["trn1.2xlarge"], "efa": True},
    ),
    "an arm head with an x86 queue": Bad(
        code="LF625",
        edits=("m5.xlarge", "c7g.xlarge"),
        construct=cluster(head_node=HeadNode(instance_type="c7g.xlarge")),
    ),
    "a capacity block with MinCount 0": queue(
        "LF632",
        f"{QUEUE}, capacity: capacity-block, reservation: cr-0123456789abcdef0",
        capacity_type=CapacityType.CAPACITY_BLOCK,
        capacity_reservation=BLOCK,
    ),
    "GresTypes": setting(
        "LF642",
        "slurm: {settings: [{GresTypes: gpu}]}",
        slurm=SlurmSettings(custom_settings=[{"GresTypes": "gpu"}]),
    ),
    "overlapping mount points": Bad(
        code="LF651",
        edits=(
            "clusters:",
            "storage: {fsx: {size: 4800 GiB}}\nclusters:",
            KIND,
            f"{KIND}\n    storage: {{data: {{type: Ebs, mount: /fsx/apps, settings: {{Size: 200}}}}}}",
        ),
        construct=below_fsx,
    ),
    "a closed network": Bad(code="LF122", edits=("usw2-az4,", "usw2-az4, internet: none,"), construct=closed),
    "a home without its volume": Bad(
        code="LF670",
        edits=("clusters:", "storage: {home: {existing: {id: fs-0123456789abcdef0}}}\nclusters:"),
        construct=home_without_volume,
    ),
    "more nodes than addresses": Bad(
        code="LF220",
        edits=(QUEUE, "type: c5.xlarge, max: 300", "m5.xlarge", "m5.4xlarge"),
        construct=cluster(
            lambda: [trn1(resource={"instance_types": ["c5.xlarge"], "max_count": 300})],
            head_node=HeadNode(instance_type="m5.4xlarge"),
        ),
    ),
    "an AZ without a subnet": queue("LF206", f"{QUEUE}, az: {OTHER_ZONE}", availability_zone_id=OTHER_ZONE),
    "an override of a key with an attribute": queue(
        "LF605", f"{QUEUE}, overrides: {{CapacityType: SPOT}}", overrides={"CapacityType": "SPOT"}
    ),
    "a placement group for a burstable type": queue(
        "LF629",
        "type: t3.large, max: 4, placement: near",
        resource={"instance_types": ["t3.large"]},
        placement_group=PlacementGroup.named("near"),
    ),
    "a root volume smaller than the image": Bad(
        code="LF668",
        edits=("type: m5.xlarge", "type: m5.xlarge, root_volume: 8 GiB"),
        construct=cluster(head_node=HeadNode(instance_type="m5.xlarge", root_volume=RootVolume(size_gib=8))),
    ),
    "a warning of two minutes": setting(
        "LF660",
        "login: {people: {type: m5.xlarge, count: 1, grace_time: 2 min}}",
        login_pools=[LoginPool(name="people", instance_type="m5.xlarge", gracetime_minutes=2)],
    ),
    "a user id of the system": setting("LF413", "users: {ada: {uid: 1000}}", users=[ClusterUser(name="ada", uid=1000)]),
    "an S3 mount for an unknown queue": Bad(
        code="LF417",
        edits=(KIND, f"{KIND}\n    s3_mounts: [{{bucket: 's3://my-data', mount: /s3, groups: [trn2]}}]"),
        construct=foreign_bucket_mount,
    ),
    "an unknown step to skip": setting(
        "LF421", "scripts: {skip: [mount_luster]}", scripts=NodeScripts(skip_steps=["mount_luster"])
    ),
    "Neuron packages that are not in the downloads": setting(
        "LF453", 'neuron: {release: "2.28.1", host: install}', neuron=NeuronHost(release="2.28.1", install=True)
    ),
    "a missing lock file": setting(
        "LF427", "downloads: {lock: nowhere.json}", downloads=Downloads(lock=HERE / "nowhere.json")
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


def by_file(app: cdk.App, *edits: str, folder: Path = HERE) -> ParallelClusterStack:
    fleet = parse_fleet(edited(*edits), directory=folder)
    (made,) = FleetStacks.make(app, fleet, account="111122223333").clusters.values()
    assert isinstance(made, ParallelClusterStack)
    return made


def test_efa_always_has_a_placement_group_setting(stack: cdk.Stack, oracle: Oracle) -> None:
    """ParallelCluster rejects EFA without a placement group setting; the fleet file and the Python API both set it."""
    for configuration in (
        stack.resolve(cluster()(stack).configuration),
        (made := by_file(cdk.App())).resolve(made.cluster.configuration),
    ):
        (resource,) = configuration["Scheduling"]["SlurmQueues"][0]["ComputeResources"]
        assert resource["Efa"] == {"Enabled": True}
        assert resource["Networking"] == {"PlacementGroup": {"Enabled": True}}
        del resource["Networking"]
        rejected = [finding.validator for finding in oracle.validate(configuration) if finding.level == "ERROR"]
        assert rejected == ["EfaPlacementGroupValidator"]


CHANGED = "[LF683]"


def test_fleet_file_and_construct_reject_a_change_of_the_head_node_in_place(app: cdk.App, tmp_path: Path) -> None:
    """The fleet file and the Python API both compare with the last deployment, after the app is constructed."""
    first = by_file(cdk.App(outdir=str(tmp_path / "first"), context=cdk_context()))
    assembly = cast(cdk.App, first.node.root).synth()
    template = assembly.get_stack_by_name("test-pc").template_full_path
    shutil.copy(template, tmp_path / "deployed.json")
    by_file(app, KIND, f"{KIND}\n    deployed: deployed.json", "m5.xlarge", "m5.2xlarge", folder=tmp_path)
    with pytest.raises(RuntimeError, match=r"HeadNode\.InstanceType") as through_file:
        app.synth()
    other = cdk.App(outdir=str(tmp_path / "other"), context=cdk_context())
    stack = cdk.Stack(other, "Test", env=cdk.Environment(account="111122223333", region="us-west-2"))
    head = HeadNode(instance_type="m5.2xlarge")
    deployed = DeployedConfiguration.from_file(tmp_path / "deployed.json")
    cluster(head_node=head, deployed=deployed)(stack)
    with pytest.raises(RuntimeError, match=r"HeadNode\.InstanceType") as through_construct:
        other.synth()
    assert str(through_file.value).count(CHANGED) == 1
    assert CHANGED in str(through_construct.value)
