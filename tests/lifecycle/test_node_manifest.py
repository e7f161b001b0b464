"""The node manifest `fleet.json`, and the catalog of steps, which is generated from the step files."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsonschema
import pytest
from aws_cdk import aws_s3 as s3

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.lifecycle.cluster_metrics import ReportPlace
from llm_fleet.lifecycle.node_manifest import NodeManifest, render, render_instance_type
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, NodeType, ParallelClusterHook
from llm_fleet.spec.cluster import (
    ClusterSpec,
    Downloads,
    NeuronHost,
    NodeGroup,
    NodeMount,
    NodeScripts,
    OwnStep,
    OwnSteps,
    S3Mount,
)
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.people import ClusterUser
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest import check
from llm_fleet_node.schema import KEYWORDS
from tools import make_node_steps

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "manifests"
SCHEMA: dict[str, Any] = json.loads((ROOT / "lifecycle_scripts" / "fleet.schema.json").read_text(encoding="utf-8"))
VALIDATOR: Any = jsonschema.Draft202012Validator(SCHEMA)  # `jsonschema.validate` checks the schema itself each time

CONTROLLER = NodeGroup(name="controller", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])
WORKERS = NodeGroup(name="workers", role=NodeType.COMPUTE, instance_types=["ml.trn1.32xlarge"], partition="trn1")
FSX = NodeMount(kind="lustre", dns_name="fs-1.example", mount_name="abcdefgh", mount_path="/fsx", efa=True)
HOME = NodeMount(kind="open_zfs", dns_name="fs-2.example", mount_path="/home")

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"
STEP = OwnStep(name="users", script="a.sh")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA ada@laptop"
LOCKED: dict[str, Any] = {
    "name": "aws-neuronx-tools",
    "version": "2.28.23.0",
    "kind": "deb",
    "system": "ubuntu-22.04-amd64",
    "url": "https://example.com/tools.deb",
    "sha256": "a" * 64,
    "size": 1000,
    "requires": [],
}


def _manifest(**changed: Any) -> NodeManifest:
    given: dict[str, Any] = {"fleet_name": "demo", "region": "us-west-2", "cluster_name": "train"}
    given |= {"groups": [CONTROLLER, WORKERS], "mounts": [FSX, HOME]}
    setup = {name: changed.pop(name) for name in ClusterSpec.model_fields if name in changed}
    return NodeManifest(spec=ClusterSpec(**setup), **(given | changed))


def test_a_rendered_manifest_fits_the_schema_and_has_the_expected_devices_of_nodes() -> None:
    rendered = render(_manifest(), content_hash="a" * 64, scripts_sha256="b" * 64)
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(rendered)
    check(rendered, SCHEMA)
    assert rendered["groups"][1] == {
        "name": "workers",
        "role": "Compute",
        "hook": "OnInitComplete",
        "partition": "trn1",
        "instance_types": [
            {
                "name": "ml.trn1.32xlarge",
                "accelerator": "neuron",
                "accelerators": 16,
                "efa_interfaces": 8,
                "lustre_efa_interfaces": 2,
            }
        ],
    }


@pytest.mark.parametrize(
    ("name", "platform", "efa", "expected"),
    [
        ("ml.trn2.48xlarge", NodePlatform.HYPERPOD, True, (16, 0)),
        ("p5.48xlarge", NodePlatform.PARALLELCLUSTER, True, (32, 8)),
        ("p5.48xlarge", NodePlatform.PARALLELCLUSTER, False, (0, 0)),
        ("ml.unheard-of.48xlarge", NodePlatform.HYPERPOD, True, (None, None)),
    ],
)
def test_the_manifest_has_the_efa_interfaces_of_nodes_and_of_lustre(
    name: str, platform: NodePlatform, efa: bool, expected: tuple[int | None, int | None]
) -> None:
    rendered = render_instance_type(name, platform, efa=efa)
    assert (rendered["efa_interfaces"], rendered["lustre_efa_interfaces"]) == expected


def test_all_settings_of_nodes_are_rendered_as_in_the_schema(stack: cdk.Stack, tmp_path: Path) -> None:
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"schema_version": 1, "files": [LOCKED]}))
    bucket = s3.Bucket.from_bucket_name(stack, "Corpus", "my-corpus")
    manifest = _manifest(
        mounts=[FSX, replace(HOME, groups=["controller"])],
        s3_mounts=[
            S3Mount(bucket=bucket, prefix="tokenized", mount_path="/s3/corpus"),
            S3Mount(bucket=bucket, prefix="out/", mount_path="/s3/out", read_only=False, groups=["workers"]),
            S3Mount(bucket=bucket, mount_path="/s3/all"),
        ],
        accounting=AccountingDatabase(endpoint="db", database_name="acct", secret=SECRET),
        users=[
            ClusterUser(name="ada", uid=2001, sudo=True, ssh_public_keys=[f"{KEY}\n"], slurm_account="research"),
            ClusterUser(name="grace", uid=2002, gid=3000),
        ],
        neuron=NeuronHost(release="2.28.1", install=True),
        downloads=Downloads(lock=lock, mirror=bucket, prefix="packages/"),
        report_place=ReportPlace(s3_uri="s3://sagemaker-demo/reports/", metric_namespace="LlmFleet/Nodes"),
        scripts=NodeScripts(
            skip_steps=["exporters"],
            own=OwnSteps(
                folder=tmp_path,
                steps=[OwnStep(name="tools", script="tools.sh", roles=[NodeType.COMPUTE], needs=["mount_lustre"])],
            ),
        ),
    )
    rendered = render(manifest, content_hash="a" * 64, scripts_sha256="b" * 64)
    VALIDATOR.validate(rendered)
    check(rendered, SCHEMA)
    assert [mount["groups"] for mount in rendered["mounts"]] == [None, ["controller"]]
    assert [(mount["prefix"], mount["read_only"], mount["groups"]) for mount in rendered["s3_mounts"]] == [
        ("tokenized/", True, None),
        ("out/", False, ["workers"]),
        (None, True, None),
    ]
    assert rendered["accounting"]["kind"] == "external"
    assert rendered["accounting"]["secret_arn"] == SECRET
    assert [(user["gid"], user["ssh_public_keys"]) for user in rendered["users"]] == [(2001, [KEY]), (3000, [])]
    assert rendered["neuron"]["host"] == "install"
    assert {"name": "aws-neuronx-dkms", "version": "2.26.10.0"} in rendered["neuron"]["packages"]
    assert rendered["neuron"]["compatibility"]
    assert rendered["downloads"] == {"source": "mirror", "mirror_s3_uri": "s3://my-corpus/packages", "files": [LOCKED]}
    assert rendered["reports"]["event_bus"] is None
    assert rendered["steps"]["skip"] == ["exporters"]
    (own,) = rendered["steps"]["own"]
    assert (own["script"], own["roles"], own["timeout_seconds"]) == ("own/tools.sh", ["Compute"], 300)


def test_by_default_the_manifest_has_local_accounting_and_no_downloads() -> None:
    rendered = render(_manifest(), content_hash="a" * 64, scripts_sha256="b" * 64)
    assert rendered["platform"] == "hyperpod"
    assert rendered["accounting"]["kind"] == "local"
    assert set(rendered["accounting"].values()) == {"local", None}
    assert rendered["downloads"] == {"source": "none", "mirror_s3_uri": None, "files": []}
    assert (rendered["users"], rendered["s3_mounts"], rendered["neuron"], rendered["reports"]) == ([], [], None, None)


def test_instance_types_of_parallelcluster_are_found_in_the_catalog() -> None:
    hook = ParallelClusterHook.ON_NODE_CONFIGURED
    groups = [
        replace(CONTROLLER, hook=hook, instance_types=["m5.xlarge"]),
        replace(WORKERS, hook=hook, instance_types=["trn1.32xlarge"]),
    ]
    manifest = _manifest(platform=NodePlatform.PARALLELCLUSTER, groups=groups)
    rendered = render(manifest, content_hash="a" * 64, scripts_sha256="b" * 64)
    check(rendered, SCHEMA)
    assert (rendered["platform"], rendered["groups"][1]["hook"]) == ("parallelcluster", "OnNodeConfigured")
    assert rendered["groups"][1]["instance_types"][0]["accelerators"] == 16


def test_the_neuron_rule_accepts_instance_types_of_parallelcluster() -> None:
    groups = [replace(WORKERS, hook=None, instance_types=["trn1.32xlarge"])]
    _manifest(platform=NodePlatform.PARALLELCLUSTER, groups=groups, neuron=NeuronHost(release="2.28.1"))


def test_a_type_newer_than_the_catalog_is_rendered_with_the_facts_of_the_user() -> None:
    new = InstanceType.of(
        "ml.trn9.48xlarge", network_cards=16, accelerator="neuron", accelerators=64, efa_interfaces=16
    )
    workers = NodeGroup(name="workers", role=NodeType.COMPUTE, instance_types=[new], partition="trn9")
    rendered = render(_manifest(groups=[CONTROLLER, workers]), content_hash="a" * 64, scripts_sha256="b" * 64)
    check(rendered, SCHEMA)
    expected = {"name": "ml.trn9.48xlarge", "accelerator": "neuron", "accelerators": 64, "efa_interfaces": 16}
    expected["lustre_efa_interfaces"] = 2
    assert rendered["groups"][1]["instance_types"] == [expected]


def test_a_type_that_the_catalog_lacks_is_rendered_without_expectations() -> None:
    group = NodeGroup(name="new", role=NodeType.COMPUTE, instance_types=["ml.trn9.xlarge"], partition="p", hook=None)
    rendered = render(_manifest(groups=[group]), content_hash="a" * 64, scripts_sha256="b" * 64)
    check(rendered, SCHEMA)
    assert rendered["groups"][0]["hook"] is None
    assert rendered["groups"][0]["instance_types"][0]["efa_interfaces"] is None


@pytest.mark.parametrize(
    ("changed", "code", "remedy"),
    [
        ({"groups": [CONTROLLER, CONTROLLER]}, "LF410", "a different name"),
        ({"groups": [NodeGroup(name="a", role=NodeType.COMPUTE, instance_types=[])]}, "LF410", "ml. instance type"),
        (
            {"mounts": [FSX, NodeMount(kind="open_zfs", dns_name="x", mount_path="/fsx/")]},
            "LF411",
            "a different mount path",
        ),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="home")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/a/../b")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="lustre", dns_name="x", mount_path="/fsx")]}, "LF411", "mount name"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/h", mount_name="a")]}, "LF411", "OpenZFS"),
        ({"mounts": [replace(FSX, groups=["worker"])]}, "LF411", "`workers`"),
        ({"groups": [replace(CONTROLLER, hook=ParallelClusterHook.ON_NODE_CONFIGURED)]}, "LF419", "OnInitComplete"),
        ({"platform": NodePlatform.PARALLELCLUSTER, "groups": [CONTROLLER]}, "LF419", "OnNodeConfigured"),
        ({"groups": [replace(CONTROLLER, instance_types=["m5.xlarge"])]}, "LF419", "`ml.m5.xlarge`"),
        ({"users": [ClusterUser(name="root", uid=2001)]}, "LF412", "another name"),
        ({"neuron": NeuronHost(release="2.28")}, "LF450", "2.28.1"),
        ({"scripts": NodeScripts(skip_steps=["exporter"])}, "LF421", "`exporters`"),
        ({"scripts": NodeScripts(own=OwnSteps(folder=".", steps=[STEP]))}, "LF422", "`own_users`"),
        ({"downloads": Downloads(lock="nowhere.json")}, "LF427", "llm-fleet mirror lock"),
    ],
)
def test_a_manifest_that_nodes_cannot_use_is_rejected(changed: dict[str, Any], code: str, remedy: str) -> None:
    with pytest.raises(FleetError) as caught:
        _manifest(**changed)
    assert [problem.code.value for problem in caught.value.problems] == [code]
    assert remedy in caught.value.problems[0].remedy


def test_names_can_be_tokens() -> None:
    token = "${Token[TOKEN.7]}"
    _manifest(region=token, mounts=[NodeMount(kind="lustre", dns_name=token, mount_name=token, mount_path=token)])


def test_a_custom_hook_is_rendered_as_the_api_spells_it() -> None:
    group = NodeGroup(name="c", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"], hook=LifecycleHook.ON_CREATE)
    assert render(_manifest(groups=[group]), content_hash="", scripts_sha256="")["groups"][0]["hook"] == "OnCreate"


@pytest.mark.parametrize("path", sorted(HERE.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_cdk_side_and_nodes_accept_the_same_files(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    good = path.parent.name == "good"
    assert _full_check_takes(document) == good
    assert _node_takes(document) == good


def test_the_nodes_support_every_keyword_of_the_schema() -> None:
    describing = {"$schema", "title", "$defs"}
    assert _keywords(SCHEMA) - describing <= KEYWORDS


def _full_check_takes(document: Any) -> bool:
    try:
        VALIDATOR.validate(document)
    except jsonschema.ValidationError:
        return False
    return True


def _node_takes(document: object) -> bool:
    try:
        check(document, SCHEMA)
    except Failure:
        return False
    return True


def _keywords(schema: dict[str, Any]) -> set[str]:
    found = set(schema)
    for name in ("properties", "$defs"):
        for nested in schema.get(name, {}).values():
            found |= _keywords(nested)
    return found | (_keywords(schema["items"]) if "items" in schema else set())


ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1"
URL = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"


def rendered(metrics: ClusterMetrics | None, *, platform: NodePlatform = NodePlatform.HYPERPOD) -> dict[str, Any]:
    hyperpod = platform is NodePlatform.HYPERPOD
    group = NodeGroup(
        name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge" if hyperpod else "m5.xlarge"]
    )
    if not hyperpod:
        group = NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["m5.xlarge"],
                          hook=ParallelClusterHook.ON_NODE_CONFIGURED)  # fmt: skip
    manifest = NodeManifest(
        fleet_name="demo",
        region="us-west-2",
        cluster_name="train-0a1b2c3d",
        platform=platform,
        groups=[group],
        spec=ClusterSpec(metrics=metrics, cluster_name=None if hyperpod else "train"),
    )
    return render(manifest, content_hash="a" * 64, scripts_sha256="b" * 64)


def test_without_metrics_the_manifest_has_no_section_for_them() -> None:
    assert "metrics" not in rendered(None)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (ClusterMetrics.cloudwatch(), {"log_group": "/llm-fleet/metrics/train-0a1b2c3d", "remote_write_url": None}),
        (ClusterMetrics.prometheus(workspace_arn=ARN), {"log_group": None, "remote_write_url": URL}),
    ],
)
def test_settings_of_metrics_fit_the_schema_on_both_sides(metrics: ClusterMetrics, expected: dict[str, Any]) -> None:
    document = rendered(metrics)
    VALIDATOR.validate(document)
    check(document, SCHEMA)
    assert document["metrics"].items() >= {**expected, "namespace": "LlmFleet/Nodes", "seconds": 60}.items()


@pytest.mark.parametrize(
    "change",
    [{"destination": "datadog"}, {"remote_write_url": "http://x"}, {"seconds": 1}, {"extra": 1}, {"cluster": ""}],
)
def test_both_sides_reject_invalid_metrics(change: dict[str, Any]) -> None:
    document = rendered(ClusterMetrics.cloudwatch())
    document["metrics"] |= change
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)
    with pytest.raises(Failure):
        check(document, SCHEMA)


def test_metrics_of_a_parallelcluster_keep_their_name_when_its_hash_changes() -> None:
    document = rendered(ClusterMetrics.cloudwatch(), platform=NodePlatform.PARALLELCLUSTER)
    assert (document["metrics"]["cluster"], document["metrics"]["log_group"]) == ("train", "/llm-fleet/metrics/train")


def test_the_generated_list_of_steps_is_up_to_date() -> None:
    made = make_node_steps.text()
    if os.environ.get("UPDATE_GOLDEN"):
        make_node_steps.PLACE.write_text(made, encoding="utf-8")
    assert make_node_steps.PLACE.read_text(encoding="utf-8") == made, "steps have changed: run `make golden`"


def test_the_catalog_has_every_step_with_all_its_facts() -> None:
    facts = json.loads(make_node_steps.PLACE.read_text(encoding="utf-8"))["facts"]
    read = {
        name: {
            "summary": step.summary,
            "roles": list(step.roles),
            "hooks": list(step.hooks),
            "needs": list(step.needs),
        }
        for name, step in node_steps().items()
    }
    assert read == facts
