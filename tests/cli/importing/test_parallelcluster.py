"""ParallelCluster configurations become valid fleet files, with notes about replaced, chosen and left out values."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml

from llm_fleet.catalog.parallelcluster import SECTION, SchemaKey, parallelcluster_schema
from llm_fleet.cli.importing.importer import Imported, ImportFailure, import_request
from llm_fleet.cli.main import main
from llm_fleet.fleet_file.clusters import ParallelClusterConfig
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.cli.importing import imports

_BY_NAME: dict[str, Any] = {
    "Region": "eu-west-1",
    "Os": "ubuntu2404",
    "Scheduler": "plugin",
    "InstanceType": "c5.9xlarge",
    "MountDir": "/elsewhere",
    "Name": "other",
    "MaxCount": 5,
    "MinCount": 1,
    "SubnetId": "subnet-0123456789abcdef9",
    "SubnetIds": "subnet-0123456789abcdef9",
    "ScalingStrategy": "best-effort",
    "SharedStorageType": "Efs",
    "QueueUpdateStrategy": "TERMINATE",
    "CapacityType": "SPOT",
    "RetentionInDays": 90,
    "ScaledownIdletime": 30,
    "GracetimePeriod": 60,
    "Port": 8444,
    "Count": 2,
    "StorageType": "Efs",
}
_FALSE_SAYS = {"Efa/Enabled", "Imds/Secured"}


def value_of(key: SchemaKey) -> Any:
    """Return the value."""
    if key.name in _BY_NAME:
        return _BY_NAME[key.name]
    if key.kind == "bool":
        return not any(key.place.endswith(name) for name in _FALSE_SAYS)
    if key.kind in ("int", "float"):
        return key.range.minimum or 2 if key.range else 2
    if key.kind in ("map", "any"):
        return {"Key": "value"}
    return key.one_of[0] if key.one_of else "text"


TALK = imports.DATA / "parallelcluster-talk.yaml"
SUBNET = "subnet-0123456789abcdef0"
PLAIN: dict[str, Any] = {
    "Region": "us-west-2",
    "Image": {"Os": "alinux2023"},
    "HeadNode": {"InstanceType": "c5.4xlarge", "Networking": {"SubnetId": SUBNET}},
    "Scheduling": {
        "Scheduler": "slurm",
        "SlurmQueues": [
            {
                "Name": "trn1",
                "Networking": {"SubnetIds": [SUBNET]},
                "ComputeResources": [{"Name": "trn1", "InstanceType": "trn1.32xlarge", "MaxCount": 4}],
            }
        ],
    },
    "LoginNodes": {
        "Pools": [{"Name": "people", "InstanceType": "m5.xlarge", "Count": 1, "Networking": {"SubnetIds": [SUBNET]}}]
    },
    "SharedStorage": [{"Name": "apps", "StorageType": "Ebs", "MountDir": "/apps"}],
}
SETTINGS = re.compile(r"SharedStorage\[\]/(\w+)Settings/")


def imported(tmp_path: Path, configuration: Any, **options: Any) -> Imported:
    return imports.imported(tmp_path, in_yaml(configuration), name="cluster.yaml", **imports.PLACED | options)


def in_yaml(configuration: Any) -> str:
    return configuration if isinstance(configuration, str) else yaml.safe_dump(configuration)


def cluster_of(result: Imported) -> ParallelClusterConfig:
    (cluster,) = parse_fleet(result.text).parallelclusters.values()
    return cluster


def with_(path: str, value: Any, configuration: dict[str, Any] = PLAIN) -> dict[str, Any]:
    """Return `configuration` with `value` at `path`; `[]` is the first item of a list."""
    changed = json.loads(json.dumps(configuration))
    holder: Any = changed
    *above, last = path.split("/")
    for part in above:
        key = part.removesuffix("[]")
        holder = holder.setdefault(key, [{}] if part.endswith("[]") else {})
        holder = holder[0] if part.endswith("[]") else holder
    holder[last.removesuffix("[]")] = [value] if last.endswith("[]") else value
    return changed


def test_unsupported_settings_of_the_talk_are_reported() -> None:
    notes = [str(note) for note in import_request(TALK, region="us-east-1").notes]
    (died,) = [note for note in notes if "alinux2 is replaced by alinux2023" in note]
    assert "since 3.16.0" in died
    assert "left out: HeadNode.Ssh.KeyName ${KEY_NAME}: a placeholder" in notes


def test_a_parallelcluster_configuration_in_place_of_a_fleet_file_is_recognized(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["validate", str(TALK)]) == 1
    reported = capsys.readouterr().err
    assert "[LF123]  line 1" in reported
    assert f"llm-fleet import {TALK}" in reported
    assert "[LF618]  line 3" in reported
    assert "alinux2023" in reported


def test_a_json_file_is_converted(tmp_path: Path) -> None:
    assert imported(tmp_path, json.dumps(PLAIN)).text == imported(tmp_path, PLAIN).text


def test_subnets_are_kept_with_vpc_and_zone(tmp_path: Path) -> None:
    other = "subnet-0123456789abcdef1"
    result = imported(tmp_path, with_("HeadNode/Networking/SubnetId", other))
    fleet = parse_fleet(result.text)
    assert fleet.network is not None
    assert fleet.network.vpc is not None
    assert fleet.network.vpc.subnets == {"usw2-az4": SUBNET}
    assert cluster_of(result).head_node.subnet_id == other
    assert cluster_of(result).queue_of["trn1"].subnet_ids == ()


def test_subnets_require_their_vpc(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="--vpc"):
        imported(tmp_path, PLAIN, vpc=None)


def test_several_compute_resources_are_kept(tmp_path: Path) -> None:
    queue = PLAIN["Scheduling"]["SlurmQueues"][0]
    more = [*queue["ComputeResources"], {"Name": "b", "InstanceType": "trn1n.32xlarge", "MaxCount": "2"}]
    result = imported(tmp_path, with_("Scheduling/SlurmQueues[]/ComputeResources", more))
    resources = cluster_of(result).queue_of["trn1"].compute_resources
    assert [(each.name, tuple(each.types), each.max_count) for each in resources] == [
        ("trn1", ("trn1.32xlarge",), 4),
        ("b", ("trn1n.32xlarge",), 2),
    ]


def test_a_new_lustre_file_system_becomes_the_fleets(tmp_path: Path) -> None:
    settings = {"StorageCapacity": 4800, "DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
    storage = {"Name": "fsx", "StorageType": "FsxLustre", "MountDir": "/fsx", "FsxLustreSettings": settings}
    fleet = parse_fleet(imported(tmp_path, {**PLAIN, "SharedStorage": [storage]}).text)
    assert fleet.storage.fsx is not None
    assert fleet.storage.fsx.storage_capacity_gib == 4800
    assert fleet.storage.fsx.effective_throughput == 250


@pytest.mark.parametrize("with_database", [False, True])
def test_a_munge_key_is_kept_with_and_without_a_database(tmp_path: Path, app: cdk.App, with_database: bool) -> None:
    secret = "arn:aws:secretsmanager:us-west-2:111122223333:secret:{}-AbCdEf"
    configuration = with_("Scheduling/SlurmSettings/MungeKeySecretArn", secret.format("munge"))
    if with_database:
        database = {"Uri": "db.example.com:3306", "UserName": "slurm", "PasswordSecretArn": secret.format("password")}
        configuration = with_("Scheduling/SlurmSettings/Database", database, configuration)
    result = imported(tmp_path, configuration)
    assert cluster_of(result).accounting is not None
    FleetStacks.make(app, parse_fleet(result.text), account="111122223333")
    assembly = app.synth()
    (template,) = [
        json.dumps(stack.template) for stack in assembly.stacks if "MungeKeySecretArn" in str(stack.template)
    ]
    assert secret.format("munge") in template
    assert ('"Database"' in template) is with_database
    assert '"Sid": "MungeKey"' in template, "the provider's validators read it"


def test_a_misspelled_key_is_reported_with_the_nearest_one(tmp_path: Path) -> None:
    result = imported(tmp_path, with_("Scheduling/SlurmQueues[]/JobExclusiveAlocation", True))
    assert any(
        note.kind == "not understood"
        and "SlurmQueues trn1.JobExclusiveAlocation" in note.text
        and "JobExclusiveAllocation" in note.text
        for note in result.notes
    )


def test_the_name_is_from_the_option_and_not_from_a_long_file_name(tmp_path: Path) -> None:
    long = tmp_path / "our-production-cluster-as-it-was-exported-in-november.yaml"
    long.write_text(yaml.safe_dump(PLAIN))
    assert list(parse_fleet(import_request(long, **imports.PLACED).text).clusters) == ["cluster"]
    named = parse_fleet(import_request(long, name="train", **imports.PLACED).text)
    assert (named.name, list(named.clusters)) == ("train", ["train"])
    assert list(parse_fleet(imported(tmp_path, PLAIN).text).clusters) == ["cluster"]


def test_efa_without_a_placement_group_gets_one(tmp_path: Path) -> None:
    repaired = "SlurmQueues trn1 has EFA and no PlacementGroup"
    bare = imported(tmp_path, with_("Scheduling/SlurmQueues[]/ComputeResources[]/Efa/Enabled", True))
    placed = imported(tmp_path, with_("Scheduling/SlurmQueues[]/Networking/PlacementGroup/Enabled", True))
    assert [repaired in str(bare.notes), repaired in str(placed.notes)] == [True, False]


def test_a_lustre_file_system_with_the_name_of_the_fleets_stays_in_the_cluster(tmp_path: Path) -> None:
    made = {"Name": "new", "StorageType": "FsxLustre", "MountDir": "/new"} | {
        "FsxLustreSettings": {"StorageCapacity": 1200}
    }
    there = {"Name": "fsx", "StorageType": "FsxLustre", "MountDir": "/fsx"} | {
        "FsxLustreSettings": {"FileSystemId": "fs-0123456789abcdef0"}
    }
    result = imported(tmp_path, {**PLAIN, "SharedStorage": [made, there]})
    assert parse_fleet(result.text).storage.fsx is None
    assert [each.existing_id for each in cluster_of(result).shared_storage] == [None, "fs-0123456789abcdef0"]


@pytest.mark.parametrize(
    ("path", "value", "reported"),
    [
        ("HeadNode/Ssh/AllowedIps", "10.0.0.0/8", "HeadNode allows Session Manager but no SSH"),
        ("HeadNode/Dcv/AllowedIps", "10.0.0.0/8", "HeadNode.Dcv allows connections through Session Manager only"),
        ("LoginNodes/Pools[]/Ssh/AllowedIps", "10.0.0.0/8", "people allows Session Manager but no SSH"),
        ("Scheduling/SlurmQueues[]/JobExclusiveAllocation", False, "trn1 gives each job whole nodes"),
    ],
)
def test_a_default_that_differs_from_parallelclusters_is_reported(
    tmp_path: Path, path: str, value: Any, reported: str
) -> None:
    plain = with_("HeadNode/Dcv/Enabled", True)
    unsaid, said = imported(tmp_path, plain), imported(tmp_path, with_(path, value, plain))
    assert [reported in str(unsaid.notes), reported in str(said.notes)] == [True, False]


def test_keys_without_an_equivalent_become_overrides(tmp_path: Path) -> None:
    result = imported(tmp_path, with_("DevSettings/Timeouts/HeadNodeBootstrapTimeout", 3600))
    assert cluster_of(result).overrides == {"DevSettings": {"Timeouts": {"HeadNodeBootstrapTimeout": 3600}}}
    assert any("under `overrides`" in note.text for note in result.notes)


@pytest.mark.parametrize("scheduler", ["awsbatch", "pbs"])
def test_a_removed_scheduler_is_rejected_by_the_rule(tmp_path: Path, scheduler: str) -> None:
    with pytest.raises(ImportFailure, match="scheduler"):
        imported(tmp_path, with_("Scheduling/Scheduler", scheduler))


def leaves(key: SchemaKey) -> Iterator[SchemaKey]:
    for below in key.keys.values():
        if below.kind == SECTION:
            yield from leaves(below)
        else:
            yield below


@pytest.mark.parametrize("key", list(leaves(parallelcluster_schema())), ids=lambda key: key.place)
def test_every_key_of_the_schema_is_converted_or_reported(
    tmp_path: Path, key: SchemaKey, plain_outcome: Callable[[str | None], str]
):
    """Each key is converted, reported as left out, or rejected: an import never drops one silently."""
    found = SETTINGS.match(key.place)
    kind = found[1] if found else None
    assert outcome(tmp_path, with_(key.place, value_of(key), plain_with(kind))) != plain_outcome(kind)


def outcome(tmp_path: Path, configuration: dict[str, Any]) -> str:
    return imports.outcome(tmp_path, in_yaml(configuration), name="cluster.yaml", **imports.PLACED)


@pytest.fixture(scope="module")
def plain_outcome(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], str]:
    """The result of the plain configuration, by the type of its storage."""

    @cache
    def made(kind: str | None) -> str:
        return outcome(tmp_path_factory.mktemp("plain"), plain_with(kind))

    return made


def plain_with(kind: str | None) -> dict[str, Any]:
    return with_("SharedStorage[]/StorageType", kind) if kind else PLAIN
