"""The node manifest of a cluster, and the permissions of its role for these settings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    AccountingDatabase,
    ClusterUser,
    Downloads,
    FleetError,
    HyperPodCluster,
    InstanceGroup,
    InstanceType,
    Lifecycle,
    LifecycleScripts,
    LustreFileSystem,
    NeuronHost,
    NodeReports,
    OwnStep,
    OwnSteps,
    S3Mount,
)
from tests.hyperpod.manifests import written_manifest

Make = Callable[..., HyperPodCluster]
USER = ClusterUser(name="ada", uid=2001)
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"


@pytest.fixture
def bucket(stack: cdk.Stack) -> s3.IBucket:
    return s3.Bucket.from_bucket_name(stack, "Corpus", "my-corpus")


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({"schema_version": 1, "files": []}))
    return path


def statements(stack: cdk.Stack) -> dict[str, Any]:
    """Return the statements of the node role's policy by their ids."""
    policies = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    (policy,) = [each for each in policies if "HyperPod nodes" in each["Properties"].get("Description", "")]
    return {each["Sid"]: each for each in policy["Properties"]["PolicyDocument"]["Statement"]}


def problems(make: Make, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(FleetError) as caught:
        make(**options)
    return [(problem.code.value, problem.where) for problem in caught.value.problems]


def test_by_default_accounting_is_local_and_reports_are_written_to_the_scripts_bucket(
    make: Make, stack: cdk.Stack
) -> None:
    make(cluster_name="train", fleet_name="demo")
    manifest = written_manifest(stack)
    assert manifest["accounting"]["kind"] == "local"
    assert manifest["downloads"]["source"] == "none"
    assert manifest["reports"]["s3_uri"].endswith("/reports/demo/train/")
    assert (manifest["reports"]["metric_namespace"], manifest["reports"]["event_bus"]) == ("LlmFleet/Nodes", "default")
    granted = statements(stack)
    assert granted["ReportsObjects"]["Action"] == "s3:PutObject"
    assert str(granted["ReportsObjects"]["Resource"]).endswith("/reports/demo/train/*']]}")
    assert {"FailureMetric", "FailureEvent"} <= set(granted)


def test_the_role_can_write_to_the_bucket_in_the_manifest(make: Make, stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Scripts", "sagemaker-ours")
    make(scripts=LifecycleScripts(bucket=bucket), cluster_name="train", fleet_name="demo")
    assert written_manifest(stack)["reports"]["s3_uri"] == "s3://sagemaker-ours/reports/demo/train/"
    assert "sagemaker-ours/reports/demo/train/*" in str(statements(stack)["ReportsObjects"]["Resource"])


@pytest.mark.parametrize(
    ("reports", "granted"),
    [
        (NodeReports.S3, {"ReportsObjects"}),
        (NodeReports.NONE, set[str]()),
        (NodeReports.ALL, {"ReportsObjects", "FailureMetric", "FailureEvent"}),
    ],
)
def test_reports_can_be_reduced(make: Make, stack: cdk.Stack, reports: NodeReports, granted: set[str]) -> None:
    make(reports=reports)
    assert {name for name in statements(stack) if name.startswith(("Report", "Failure"))} == granted
    settings = written_manifest(stack)["reports"]
    assert (settings is None) == (not granted)
    on_failure = ("LlmFleet/Nodes", "default") if "FailureMetric" in granted else (None, None)
    assert settings is None or (settings["metric_namespace"], settings["event_bus"]) == on_failure


def test_the_manifest_has_the_same_external_database_as_the_cluster(
    make: Make, stack: cdk.Stack, properties: Callable[[], dict[str, Any]]
) -> None:
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, "Secret", SECRET)
    make(lifecycle=Lifecycle.ON_CREATE, accounting_database=AccountingDatabase(endpoint="db.example", secret=secret))
    accounting = written_manifest(stack)["accounting"]
    assert (accounting["kind"], accounting["endpoint"], accounting["port"], accounting["secret_arn"]) == (
        "external", "db.example", 3306, SECRET,
    )  # fmt: skip
    name = properties()["Orchestrator"]["Slurm"]["AccountingDatabase"]["Name"]
    assert accounting["database"].startswith("slurm_acct_db_")
    assert name["Fn::Join"][1][0] == "slurm_acct_db_", "both are the stack's own schema"
    assert statements(stack)["AccountingSecret"]["Resource"] == SECRET


def test_the_manifest_lists_the_groups_that_mount_a_file_system(
    make: Make, stack: cdk.Stack, lustre: LustreFileSystem
) -> None:
    make(InstanceGroup.login("ml.m5.xlarge", mount_lustre=False), lustre=lustre)
    (mount,) = written_manifest(stack)["mounts"]
    assert mount["groups"] == ["controller-group", "worker-group"]


def test_a_file_system_that_all_groups_mount_lists_no_groups(
    make: Make, stack: cdk.Stack, lustre: LustreFileSystem
) -> None:
    make(InstanceGroup.login("ml.m5.xlarge"), lustre=lustre)
    (mount,) = written_manifest(stack)["mounts"]
    assert mount["groups"] is None


def test_the_role_can_access_only_the_mounted_prefixes(make: Make, stack: cdk.Stack, bucket: s3.IBucket) -> None:
    make(
        s3_mounts=[
            S3Mount(bucket=bucket, prefix="in/", mount_path="/s3/in"),
            S3Mount(bucket=bucket, prefix="out", mount_path="/s3/out", read_only=False),
        ]
    )
    granted = statements(stack)
    assert granted["Read1Objects"]["Action"] == "s3:GetObject"
    assert "my-corpus/in/*" in str(granted["Read1Objects"]["Resource"])
    assert "s3:PutObject" in granted["Write1Objects"]["Action"]
    assert "my-corpus/out/*" in str(granted["Write1Objects"]["Resource"])
    assert [mount["prefix"] for mount in written_manifest(stack)["s3_mounts"]] == ["in/", "out/"]


def test_the_role_can_read_the_mirror(make: Make, stack: cdk.Stack, bucket: s3.IBucket, lock: Path) -> None:
    make(downloads=Downloads(lock=lock, mirror=bucket, prefix="packages"))
    assert "my-corpus/packages/*" in str(statements(stack)["MirrorObjects"]["Resource"])
    assert written_manifest(stack)["downloads"]["mirror_s3_uri"] == "s3://my-corpus/packages"


def test_downloads_from_vendors_require_no_statement(make: Make, stack: cdk.Stack, lock: Path) -> None:
    make(downloads=Downloads(lock=lock))
    assert not [name for name in statements(stack) if name.startswith("Mirror")]
    assert written_manifest(stack)["downloads"] == {"source": "vendor", "mirror_s3_uri": None, "files": []}


def test_custom_steps_are_in_the_manifest(make: Make, stack: cdk.Stack, tmp_path: Path) -> None:
    script = tmp_path / "tools.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    script.chmod(0o755)
    tools = OwnStep(name="tools", script="tools.sh", needs=["mount_lustre"])
    make(scripts=LifecycleScripts(own=OwnSteps(folder=tmp_path, steps=[tools]), skip_steps=["exporters"]))
    steps = written_manifest(stack)["steps"]
    assert steps["skip"] == ["exporters"]
    assert steps["own"][0]["needs"] == ["mount_lustre"]


def test_all_errors_are_reported_together_at_the_parameters(make: Make, bucket: s3.IBucket, tmp_path: Path) -> None:
    found = problems(
        make,
        users=[ClusterUser(name="root", uid=1)],
        s3_mounts=[S3Mount(bucket=bucket, mount_path="data", groups=["worker"])],
        neuron=NeuronHost(release="1.0"),
        downloads=Downloads(lock=tmp_path / "nowhere"),
        scripts=LifecycleScripts(
            skip_steps=["exporter"], own=OwnSteps(folder=tmp_path, steps=[OwnStep(name="a", script="a.sh")])
        ),
    )
    assert sorted(found) == [
        ("LF412", "users[0].name"),
        ("LF413", "users[0].uid"),
        ("LF417", "s3_mounts[0].groups[0]"),
        ("LF421", "scripts.skip_steps[0]"),
        ("LF425", "scripts.own.steps.a.script"),
        ("LF427", "downloads.lock"),
        ("LF450", "neuron.release"),
        ("LF536", "s3_mounts[0].mount_path"),
    ]


def test_settings_that_no_node_would_read_are_rejected(
    make: Make, stack: cdk.Stack, bucket: s3.IBucket, lock: Path
) -> None:
    everything: dict[str, Any] = {
        "users": [USER],
        "s3_mounts": [S3Mount(bucket=bucket, mount_path="/s3/a")],
        "neuron": NeuronHost(release="2.28.1"),
        "downloads": Downloads(lock=lock),
    }
    unreported = [("LF429", name) for name in everything]
    assert problems(make, lifecycle=Lifecycle.NONE, **everything) == unreported
    ours = s3.Bucket.from_bucket_name(stack, "Ours", "sagemaker-ours")
    assert problems(make, id="Placed", scripts=LifecycleScripts(bucket=ours, prefix="v1"), **everything) == unreported


def test_steps_of_custom_scripts_cannot_be_skipped(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "on_init_complete.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    script.chmod(0o755)
    scripts = LifecycleScripts(scripts=tmp_path, skip_steps=["exporters"])
    assert problems(make, scripts=scripts) == [("LF429", "scripts.skip_steps")]
    make(id="Allowed", scripts=LifecycleScripts(scripts=tmp_path), users=[USER])


def test_a_missing_folder_of_custom_steps_is_reported(make: Make, tmp_path: Path) -> None:
    own = OwnSteps(folder=tmp_path / "nowhere", steps=[OwnStep(name="a", script="a.sh")])
    assert problems(make, scripts=LifecycleScripts(own=own)) == [("LF425", "scripts.own.folder")]


def test_neuron_requires_neuron_devices(make: Make) -> None:
    groups = [InstanceGroup.controller("ml.m5.xlarge"), InstanceGroup.workers("w", "ml.c5.large", count=1)]
    assert problems(make, groups=groups, neuron=NeuronHost(release="2.28.1")) == [("LF452", "neuron.release")]


def test_installation_of_neuron_requires_pinned_packages(make: Make, lock: Path) -> None:
    neuron = NeuronHost(release="2.28.1", install=True)
    assert problems(make, neuron=neuron) == [("LF453", "neuron")]
    assert problems(make, id="Pinned", neuron=neuron, downloads=Downloads(lock=lock)) == [("LF453", "neuron")]


NEWER_TYPE = InstanceType.of(
    "ml.trn9.48xlarge", network_cards=16, accelerator="neuron", accelerators=64, efa_interfaces=16, threads_per_core=2
)


def test_facts_of_a_newer_instance_type_are_in_the_manifest(
    make: Callable[..., HyperPodCluster], stack: cdk.Stack
) -> None:
    make(InstanceGroup.workers("new", NEWER_TYPE, count=1, threads_per_core=1))
    manifest = written_manifest(stack)
    (group,) = (group for group in manifest["groups"] if group["name"] == "new")
    expected = {"name": "ml.trn9.48xlarge", "accelerator": "neuron", "accelerators": 64, "efa_interfaces": 16}
    expected["lustre_efa_interfaces"] = 2
    assert group["instance_types"] == [expected]
