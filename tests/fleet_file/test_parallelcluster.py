"""A ParallelCluster in the fleet file: its keys, remedies for ParallelCluster's keys, one error per mistake."""

from pathlib import Path

import pytest

from llm_fleet.fleet_file.document import LocatedProblem
from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.rules.parallelcluster.nodes import efa_of, exclusive_of, placement_group_of
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_parallelcluster import GOOD, edited

QUEUE = "type: trn1.32xlarge, max: 4"
KIND = "kind: parallelcluster"
PC = "clusters.pc"
TRN1 = f"{PC}.queues.trn1"


def problems_of(*edits: str, directory: Path | None = None) -> list[Problem]:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(*edits), directory=directory)
    return list(caught.value.problems)


MISTAKES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "no kind": ((f"    {KIND}\n", ""), "LF111", f"{PC}.kind"),
    "a kind without a value": ((KIND, "kind:"), "LF112", f"{PC}.kind"),
    "another kind": ((KIND, "kind: pcs"), "LF114", f"{PC}.kind"),
    "ParallelCluster's own name": ((KIND, "kind: pcluster"), "LF114", f"{PC}.kind"),
    "a kind that is not text": ((KIND, "kind: [parallelcluster]"), "LF114", f"{PC}.kind"),
    "no cluster at all": ((GOOD[GOOD.index("  pc:") :], "  pc: [parallelcluster]\n"), "LF113", PC),
    "HyperPod's type": ((QUEUE, "type: ml.trn1.32xlarge, max: 4"), "LF623", f"{TRN1}.type"),
    "a size without its unit": (("m5.xlarge", "m5.xlarge, root_volume: 200"), "LF115", f"{PC}.head.root_volume.size"),
    "HyperPod's word for accounting": ((KIND, f"{KIND}\n    accounting: local"), "LF113", f"{PC}.accounting"),
    "an invalid IAM prefix": ((KIND, f"{KIND}\n    iam_prefix: a b"), "LF663", f"{PC}.iam_prefix"),
    "a prefix on another path": ((KIND, f"{KIND}\n    iam_prefix: /research/"), "LF671", f"{PC}.iam_prefix"),
    "a misspelled type": ((QUEUE, "typ: trn1.32xlarge, max: 4"), "LF110", f"{TRN1}.typ"),
    "ParallelCluster's word for the type": ((QUEUE, "InstanceType: trn1.32xlarge"), "LF110", f"{TRN1}.InstanceType"),
    "one type and several": ((QUEUE, "type: trn1.32xlarge, types: [trn1n.32xlarge]"), "LF117", f"{TRN1}.types"),
    "one type and several in one of several": (
        (QUEUE, "resources: {a: {type: trn1.32xlarge, types: [trn1n.32xlarge]}}"),
        "LF117",
        f"{TRN1}.resources.a.types",
    ),
    "a size with a wrong unit": (
        ("m5.xlarge", "m5.xlarge, root_volume: 200 GB"),
        "LF115",
        f"{PC}.head.root_volume.size",
    ),
    "an invalid placement": ((QUEUE, f"{QUEUE}, placement: 4"), "LF113", f"{TRN1}.placement"),
    "an invalid reservation": ((QUEUE, f"{QUEUE}, reservation: mine"), "LF116", f"{TRN1}.reservation"),
    "an invalid address": (("m5.xlarge", "m5.xlarge, elastic_ip: 4"), "LF113", f"{PC}.head.elastic_ip"),
    "a time without its unit": ((KIND, f"{KIND}\n    slurm: {{scaledown: 10}}"), "LF115", f"{PC}.slurm.scaledown"),
    "one kind of instances and several": (
        (QUEUE, "type: trn1.32xlarge, resources: {a: {type: trn1.32xlarge}}"),
        "LF117",
        f"{TRN1}.type",
    ),
    "an invalid bucket": ((KIND, f"{KIND}\n    reads: [corpus]"), "LF119", f"{PC}.reads[0]"),
    "an AZ of another region": ((QUEUE, f"{QUEUE}, az: use1-az4"), "LF209", f"{TRN1}.az"),
    "an invalid name": ((KIND, f"{KIND}\n    name: p_c"), "LF610", f"{PC}.name"),
    "an invalid key": (("  pc:", "  p_c:"), "LF610", "clusters.p_c"),
    "no network": (
        ("network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}", "network: none"),
        "LF121",
        "network",
    ),
    "a network without an AZ": (("network: {az: usw2-az4, ", "network: {"), "LF207", "network"),
    "an invalid network": (("{az: usw2-az4, compute_cidr: 10.1.0.0/23}", "usw2-az4"), "LF113", "network"),
    "an invalid number, with a minimum": ((QUEUE, f"{QUEUE}0s, min: 20"), "LF113", f"{TRN1}.max"),
    "an invalid head node, with Arm queues": (
        ("type: m5.xlarge", "type: 4", QUEUE, "type: c7g.xlarge, max: 4"),
        "LF113",
        f"{PC}.head.type",
    ),
    "a region without ParallelCluster": (("us-west-2", "us-west-22"), "LF558", "region"),
    "two mounts with one path": (
        (
            "clusters:",
            "storage: {fsx: {}}\nclusters:",
            KIND,
            f"{KIND}\n    storage: {{data: {{type: Ebs, mount: /fsx}}}}",
        ),
        "LF651",
        f"{PC}.storage.data.mount",
    ),
    "a file system where ParallelCluster has its own": (
        ("clusters:", "storage: {fsx: {mount: /opt/slurm}}\nclusters:"),
        "LF650",
        "storage.fsx.mount",
    ),
    "an invalid type among several": (
        (QUEUE, "types: [trn1.32xlarge, trn1.33xlarge], max: 4"),
        "LF622",
        f"{TRN1}.types[1]",
    ),
    "a volume's size with a unit, where ParallelCluster has none": (
        (KIND, f"{KIND}\n    storage: {{a: {{type: Ebs, mount: /a, settings: {{Size: 200 GiB, VolumeType: io2}}}}}}"),
        "LF601",
        f"{PC}.storage.a.settings.Size",
    ),
    "a volume type that is not text": (
        (KIND, f"{KIND}\n    storage: {{a: {{type: Ebs, mount: /a, settings: {{VolumeType: [gp3]}}}}}}"),
        "LF601",
        f"{PC}.storage.a.settings.VolumeType",
    ),
    "a Lustre's size with a unit, where ParallelCluster has none": (
        (KIND, f"{KIND}\n    storage: {{a: {{type: FsxLustre, mount: /a, settings: {{StorageCapacity: 1 TiB}}}}}}"),
        "LF601",
        f"{PC}.storage.a.settings.StorageCapacity",
    ),
    "an invalid text as Lustre throughput": (
        (
            KIND,
            f"{KIND}\n    storage: {{a: {{type: FsxLustre, mount: /a, settings: {{StorageCapacity: '1200', "
            "DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: '300'}}}",
        ),
        "LF654",
        f"{PC}.storage.a.settings.PerUnitStorageThroughput",
    ),
    "a mistake in one of several": (
        (QUEUE, "resources: {a: {type: trn1.2xlarge, efa: true}}"),
        "LF626",
        f"{TRN1}.resources.a.efa",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_reported_once_at_its_key(mistake: str) -> None:
    edits, code, where = MISTAKES[mistake]
    problems = problems_of(*edits)
    assert [(problem.code.value, problem.where) for problem in problems] == [(code, where)], problems
    assert problems[0].remedy


def test_numbers_can_be_text_if_parallelclusters_schema_accepts_it() -> None:
    settings = "{Size: '200', VolumeType: io1, Iops: '4000'}"
    assert parse_fleet(edited(KIND, f"{KIND}\n    storage: {{a: {{type: Ebs, mount: /a, settings: {settings}}}}}"))


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("queues:", "SlurmQueues:", "write `queues`"),
        ("head:", "HeadNode:", "write `head`"),
        ("type: m5.xlarge", "InstanceType: m5.xlarge", "write `type`"),
        ("max: 4", "MaxCount: 4", "write `max`"),
        ("max: 4", "max: 4, MinCount: 1", "write `min`"),
        ("max: 4", "max: 4, CapacityType: SPOT", "write `capacity`"),
        ("max: 4", "max: 4, scratsh: /scratch", "write `scratch`"),
        (KIND, f"{KIND}\n    groups: {{}}", "`groups` are HyperPod's"),
        (KIND, f"{KIND}\n    SharedStorage: []", "write `storage`"),
    ],
)
def test_keys_of_hyperpod_and_of_parallelclusters_configuration_get_a_suggestion(old: str, new: str, hint: str) -> None:
    reported = [problem for problem in problems_of(old, new) if problem.code.value == "LF110"]
    assert len(reported) == 1
    assert hint in reported[0].remedy


def test_keys_of_parallelcluster_in_a_hyperpod_cluster_suggest_the_other_kind() -> None:
    reported = [problem for problem in problems_of(KIND, "kind: hyperpod") if problem.code.value == "LF110"]
    assert [problem.path[-1] for problem in reported] == ["head", "queues"]
    assert all("`kind: parallelcluster`" in problem.remedy for problem in reported)


def test_a_misspelled_key_without_a_type_hides_no_error() -> None:
    reported = problems_of(QUEUE, "max: 4, scratsh: /scratch")
    assert [problem.code.value for problem in reported] == ["LF622", "LF110"]


@pytest.mark.parametrize(
    ("changed", "remedy"),
    [
        ("min: 5, max: 4", "write `max` 5 or more, or `min` 4 or less"),
        ("max: 4, capacity: capacity-block, reservation: cr-0123456789abcdef0", "for both `min` and `max`"),
        ("spot_price: 3", "write `capacity: spot` for the queue"),
        ("overrides: {CapacityType: SPOT}", "use `capacity`"),
        ("overrides: {ComputeResources: []}", "use `resources` and their overrides"),
        ("memory: 480", "write `480 GiB`"),
        ("memory: 4800 GiB", "write 498073 MiB"),
    ],
)
def test_remedies_use_the_keys_of_the_file(changed: str, remedy: str) -> None:
    (problem,) = problems_of(QUEUE, f"type: trn1.32xlarge, {changed}")
    assert remedy in problem.remedy
    assert "_" not in problem.remedy


@pytest.mark.parametrize(("kind", "likely"), [("pcluster", "parallelcluster"), ("sagemaker", "hyperpod")])
def test_an_unknown_kind_gets_a_suggestion(kind: str, likely: str) -> None:
    (problem, *_) = [each for each in problems_of(KIND, f"kind: {kind}") if each.code.value == "LF114"]
    assert problem.allowed == "hyperpod, parallelcluster"
    assert likely in problem.remedy


def test_the_short_form_of_a_root_volume_is_its_size() -> None:
    head = parse_fleet(edited("m5.xlarge", "m5.xlarge, root_volume: 1 TiB")).parallelclusters["pc"].head_node
    assert head.root_volume is not None
    assert head.root_volume.size_gib == 1024


def test_a_queue_with_one_instance_type_is_one_compute_resource() -> None:
    queue = parse_fleet(edited(QUEUE, f"{QUEUE}, hyperthreading: false")).parallelclusters["pc"].queue_of["trn1"]
    (resource,) = queue.compute_resources
    assert (resource.name, resource.types, resource.max_count) == ("trn1", ("trn1.32xlarge",), 4)
    assert not resource.hyperthreading
    assert resource.placement_group is None
    assert efa_of(resource)
    assert exclusive_of(queue)
    group = placement_group_of(queue, resource)
    assert group is not None
    assert group.enabled


def test_a_node_with_efa_requires_one_address() -> None:
    """Half of a /27 has 11 free addresses: enough for 8 nodes, the head node and a spare, each with 9 interfaces."""
    assert parse_fleet(edited("10.1.0.0/23", "10.1.0.0/27", "max: 4", "max: 8"))
    too_many = problems_of("10.1.0.0/23", "10.1.0.0/27", "max: 4", "max: 12")
    assert [problem.code.value for problem in too_many] == ["LF220"]


def test_a_missing_file_in_deployed_is_reported(tmp_path: Path) -> None:
    (problem,) = problems_of(KIND, f"{KIND}\n    deployed: nowhere.json", directory=tmp_path)
    assert (problem.code.value, problem.where) == ("LF680", f"{PC}.deployed")


def test_errors_have_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(edited(QUEUE, "type: trn1.2xlarge, efa: true, max: 4"))
    with pytest.raises(FleetError) as caught:
        load_fleet(path)
    (problem,) = caught.value.problems
    assert isinstance(problem, LocatedProblem)
    assert (
        problem.line == path.read_text().splitlines().index("      trn1: {type: trn1.2xlarge, efa: true, max: 4}") + 1
    )
