"""Each invalid input of a fleet file is reported with its code, its path in the user's keys, and its remedy."""

from dataclasses import dataclass

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from tests.fleet_file.good_fleet import GOOD, edited

GROUPS = "clusters.ml.groups"


@dataclass(frozen=True)
class Bad:
    """An edit of the valid fleet file that makes it invalid in one way."""

    what: str
    old: str
    new: str
    code: str
    where: str
    remedy: str


def many_groups(number: int) -> str:
    lines = [
        f"      extra-{n}: {{role: compute, type: ml.c5.large, count: 1, partition: p{n}}}\n" for n in range(number)
    ]
    return "".join(lines)


BAD = [
    Bad("no ml.", "ml.trn1.32xlarge", "trn1.32xlarge", "LF505", f"{GROUPS}.workers.type", "`ml.trn1.32xlarge`"),
    Bad("inf2", "ml.trn1.32xlarge", "ml.inf2.xlarge", "LF506", f"{GROUPS}.workers.type", "ECS"),
    Bad(
        "misspelled type", "ml.trn1.32xlarge", "ml.trn1.23xlarge", "LF507", f"{GROUPS}.workers.type", "ml.trn1.32xlarge"
    ),
    Bad(
        "two controllers",
        "      workers:",
        "      second: {role: controller, type: ml.m5.xlarge, count: 1}\n      workers:",
        "LF513",
        f"{GROUPS}.second.role",
        "keep",
    ),
    Bad("no controller", "role: controller", "role: login", "LF512", GROUPS, "controller"),
    Bad(
        "two login groups",
        "      workers:",
        "      login-a: {role: login, type: ml.m5.large, count: 1}\n"
        "      login-b: {role: login, type: ml.m5.large, count: 1}\n"
        "      workers:",
        "LF515",
        f"{GROUPS}.login-b.role",
        "keep",
    ),
    Bad(
        "partition on a controller",
        "type: ml.m5.xlarge, count: 1",
        "type: ml.m5.xlarge, count: 1, partition: a",
        "LF517",
        f"{GROUPS}.controller.partition",
        "remove the partition",
    ),
    Bad("no partition", ", partition: trn1", "", "LF516", f"{GROUPS}.workers.partition", "partition"),
    Bad(
        "both hooks",
        "partition: trn1",
        "partition: trn1, on_create: a.sh, on_init_complete: b.sh",
        "LF522",
        f"{GROUPS}.workers.on_create",
        "keep",
    ),
    Bad(
        "a strategy with Continuous",
        "kind: hyperpod",
        "kind: hyperpod\n    provisioning: Continuous\n    slurm_config: Merge",
        "LF525",
        "clusters.ml.slurm_config",
        "remove the strategy",
    ),
    Bad("Lustre of 1300 GiB", "4800 GiB", "1300 GiB", "LF302", "storage.fsx.size", "1200 GiB or 2400 GiB"),
    Bad(
        "PERSISTENT_2 at 200",
        "250 MB/s/TiB",
        "200 MB/s/TiB",
        "LF303",
        "storage.fsx.throughput",
        "125 MB/s/TiB or 250 MB/s/TiB",
    ),
    Bad(
        "throughput on SCRATCH_2",
        "size: 4800 GiB",
        "deployment: SCRATCH_2, size: 4800 GiB",
        "LF303",
        "storage.fsx.throughput",
        "remove it",
    ),
    Bad(
        "EFA where there is none",
        "size: 4800 GiB, throughput: 250 MB/s/TiB",
        "deployment: SCRATCH_2, size: 4800 GiB, efa: true",
        "LF304",
        "storage.fsx.efa",
        "PERSISTENT_2",
    ),
    Bad(
        "EFA on too small a file system",
        "throughput: 250 MB/s/TiB",
        "throughput: 250 MB/s/TiB, efa: true",
        "LF304",
        "storage.fsx.efa",
        "19200",
    ),
    Bad(
        "40 p5 in half of a /23",
        "ml.trn1.32xlarge, count: 4",
        "ml.p5.48xlarge, count: 40",
        "LF220",
        "network.compute_cidr",
        "/21",
    ),
    Bad(
        "bucket without the prefix",
        "kind: hyperpod",
        "kind: hyperpod\n    scripts: {bucket: my-scripts}",
        "LF401",
        "clusters.ml.scripts.bucket",
        "sagemaker-my-scripts",
    ),
    Bad("a cluster name too long", "  ml:", f"  {'m' * 64}:", "LF500", f"clusters.{'m' * 64}", "m" * 63),
    Bad("a cluster name with an underscore", "  ml:", "  m_l:", "LF500", "clusters.m_l", "`m-l`"),
    Bad("a group name too long", "workers:", f"{'w' * 64}:", "LF501", f"{GROUPS}.{'w' * 64}", "w" * 63),
    Bad("a group name with an underscore", "workers:", "wor_kers:", "LF501", f"{GROUPS}.wor_kers", "`wor-kers`"),
    Bad("101 groups", "      workers:", f"{many_groups(99)}      workers:", "LF503", GROUPS, "group"),
    Bad("a negative count", "count: 4", "count: -1", "LF518", f"{GROUPS}.workers.count", "0"),
    Bad("minimum above count", "count: 4", "count: 4, min_count: 5", "LF520", f"{GROUPS}.workers.min_count", "4"),
    Bad("an image that is none", "count: 4", "count: 4, image: img-1", "LF553", f"{GROUPS}.workers.image", "ami-"),
    Bad(
        "a training plan of another region",
        "count: 4",
        "count: 4, training_plan: 'arn:aws:sagemaker:us-east-1:111122223333:training-plan/p'",
        "LF542",
        f"{GROUPS}.workers.training_plan",
        "us-west-2",
    ),
    Bad("a type as a number", "count: 4", 'count: "4"', "LF113", f"{GROUPS}.workers.count", "without quotes"),
    Bad("a size without unit", "4800 GiB", "4800", "LF115", "storage.fsx.size", "`4800 GiB`"),
    Bad(
        "an unknown key", "count: 4", "coutn: 4, count: 4", "LF110", f"{GROUPS}.workers.coutn", "`count`"
    ),  # codespell:ignore coutn
    Bad("a missing key", ", count: 4", "", "LF111", f"{GROUPS}.workers.count", "`count: "),
    Bad("an unknown role", "role: compute", "role: worker", "LF114", f"{GROUPS}.workers.role", "controller"),
    Bad("an AZ by name", "az: usw2-az4", "az: us-west-2a", "LF208", "network.az", "describe-availability-zones"),
    Bad("a region that is none", "us-west-2", "us-west-22", "LF558", "region", "us-west-2"),
    Bad("a fleet name with spaces", "fleet: test", "fleet: My Fleet!", "LF118", "fleet", "`my-fleet`"),
    Bad(
        "an AZ that the network has not",
        "partition: trn1",
        "partition: trn1, mount_fsx: false, az: usw2-az1",
        "LF206",
        f"{GROUPS}.workers.az",
        "usw2-az1",
    ),
    Bad("az and azs", "az: usw2-az4", "az: usw2-az4, azs: [usw2-az4]", "LF117", "network.azs", "keep"),
    Bad(
        "a key without its volume",
        "count: 4",
        "count: 4, ebs_key: 'arn:aws:kms:us-west-2:111122223333:key/k'",
        "LF576",
        f"{GROUPS}.workers.ebs_key",
        "size",
    ),
    Bad(
        "an EFA interface where there is none",
        "type: ml.m5.xlarge",
        "type: ml.m5.xlarge, network_interface: efa",
        "LF575",
        f"{GROUPS}.controller.network_interface",
        "remove network_interface",
    ),
    Bad(
        "a prefix without its bucket",
        "kind: hyperpod",
        "kind: hyperpod\n    scripts: {prefix: a/b}",
        "LF577",
        "clusters.ml.scripts.prefix",
        "bucket",
    ),
    Bad(
        "a second lifecycle",
        "count: 4",
        "count: 4, lifecycle: OnCreate, on_create: mine.sh",
        "LF117",
        f"{GROUPS}.workers.lifecycle",
        "remove",
    ),
    Bad(
        "overlapping data repositories",
        "throughput: 250 MB/s/TiB",
        "throughput: 250 MB/s/TiB, import: s3://one, data_repositories: [{path: /a, s3: s3://two}]",
        "LF322",
        "storage.fsx.import",
        "next to",
    ),
    Bad(
        "backups of a mirror of S3",
        "throughput: 250 MB/s/TiB",
        "throughput: 250 MB/s/TiB, import: s3://one, backups: {keep: 3 days}",
        "LF308",
        "storage.fsx.backups.keep",
        "remove it",
    ),
    Bad(
        "a setting next to an existing file system",
        "size: 4800 GiB, throughput: 250 MB/s/TiB",
        "size: 4800 GiB, existing: {id: fs-0123456789abcdef0, mount_name: a}",
        "LF117",
        "storage.fsx.size",
        "remove",
    ),
    Bad(
        "an existing file system by a wrong name",
        "size: 4800 GiB, throughput: 250 MB/s/TiB",
        "existing: {id: fs-0123456789abcdef0, mount_name: much-too-long}",
        "LF120",
        "storage.fsx.existing.mount_name",
        "describe-file-systems",
    ),
    Bad(
        "a health check that CloudFormation cannot say",
        "count: 4",
        "count: 4, deep_health_checks: [MultiNodeTrainingValidation]",
        "LF114",
        f"{GROUPS}.workers.deep_health_checks[0]",
        "start-cluster-health-check",
    ),
    Bad(
        "a strategy for EKS",
        "count: 4",
        "count: 4, auto_patch: {strategy: DrainFirst}",
        "LF114",
        f"{GROUPS}.workers.auto_patch.strategy",
        "WhenIdle",
    ),
    Bad(
        "the API's own name",
        "count: 4",
        "count: 4, InstanceCount: 4",
        "LF110",
        f"{GROUPS}.workers.InstanceCount",
        "`count`",
    ),
    Bad(
        "the rules' own name",
        "count: 4",
        "count: 4, node_type: Compute",
        "LF110",
        f"{GROUPS}.workers.node_type",
        "`role`",
    ),
    Bad("a key that is none", "{data: {}}", "{data: {key: mine}}", "LF116", "storage.buckets.data.key", "arn:aws:kms:"),
    Bad(
        "an alias for a key",
        "count: 4",
        "count: 4, root_volume_key: 'arn:aws:kms:us-west-2:111122223333:alias/mine'",
        "LF116",
        f"{GROUPS}.workers.root_volume_key",
        "key/",
    ),
    Bad(
        "a role that is none",
        "kind: hyperpod",
        "kind: hyperpod\n    execution_role: nodes",
        "LF116",
        "clusters.ml.execution_role",
        "arn:aws:iam::",
    ),
    Bad(
        "no bucket's name",
        "kind: hyperpod",
        "kind: hyperpod\n    reads: ['s3://']",
        "LF340",
        "clusters.ml.reads[0]",
        "name of a bucket",
    ),
    Bad(
        "a folder of a bucket",
        "kind: hyperpod",
        "kind: hyperpod\n    writes: ['s3://my-bucket/data']",
        "LF340",
        "clusters.ml.writes[0]",
        "without a prefix",
    ),
    Bad(
        "a bucket that is not there",
        "kind: hyperpod",
        "kind: hyperpod\n    reads: [daat]",
        "LF119",
        "clusters.ml.reads[0]",
        "`data`",
    ),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.what)
def test_invalid_input_is_reported(bad: Bad) -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(bad.old, bad.new))
    problems = {(problem.where, problem.code.value): problem for problem in caught.value.problems}
    assert (bad.where, bad.code) in problems, str(caught.value)
    assert bad.remedy in problems[(bad.where, bad.code)].remedy
    assert len(caught.value.problems) == 1, str(caught.value)


def test_groups_and_their_file_system_must_share_an_az() -> None:
    apart = edited(
        "az: usw2-az4, compute_cidr: 10.1.0.0/23", "azs: [usw2-az4, usw2-az2]", "count: 4", "count: 4, az: usw2-az2"
    )
    with pytest.raises(FleetError) as caught:
        parse_fleet(apart)
    (problem,) = caught.value.problems
    assert (problem.code.value, problem.where) == ("LF534", f"{GROUPS}.workers.az")
    assert "move the group to usw2-az4" in problem.remedy


def test_lustre_requires_a_network() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited("network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}", "network: none"))
    assert [(problem.code.value, problem.where) for problem in caught.value.problems] == [("LF529", "storage.fsx")]


def test_the_unedited_file_is_valid() -> None:
    fleet = parse_fleet(GOOD)
    assert fleet.hyperpod_clusters["ml"].by_name["workers"].name == "workers"
