"""The template of a bundle."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket, LifecycleBundle
from llm_fleet.lifecycle.node_manifest import NodeManifest
from llm_fleet.lifecycle.script_folder import checksums, default_folder, read_scripts, sha256
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, NodeType, ParallelClusterHook
from llm_fleet.spec.cluster import ClusterSpec, NodeGroup, NodeMount, NodeScripts, OwnStep, OwnSteps
from llm_fleet.spec.people import ClusterUser


def _manifest(dns_name: str = "fs-1.example", cluster: str | None = "train", **group: Any) -> NodeManifest:
    return NodeManifest(
        fleet_name="demo",
        region="us-west-2",
        cluster_name=cluster,
        groups=[NodeGroup(name="c", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"], **group)],
        mounts=[NodeMount(kind="lustre", dns_name=dns_name, mount_name="abc", mount_path="/fsx")],
    )


def _bundle(stack: cdk.Stack, id: str = "Bundle", **given: Any) -> LifecycleBundle:
    scripts, manifest = given.pop("scripts", None), given.pop("manifest", _manifest())
    given["manifest"] = manifest if scripts is None else replace(manifest, scripts=NodeScripts(scripts=scripts))
    if "bucket" not in given:
        given["bucket"] = LifecycleBucket(stack, f"{id}Bucket", name_part="demo").bucket
    return LifecycleBundle(stack, id, **given)


@contextmanager
def raises_codes(codes: list[str]) -> Generator[None]:
    """Expect a `FleetError` with exactly these codes, or no error."""
    found: list[str] = []
    try:
        yield
    except FleetError as error:
        found = [problem.code.value for problem in error.problems]
    assert found == codes


def _properties(stack: cdk.Stack) -> dict[str, Any]:
    (resource,) = Template.from_stack(stack).find_resources("Custom::LlmFleetBundle").values()
    return resource["Properties"]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder of scripts that a test can change."""
    return Path(shutil.copytree(default_folder(), tmp_path / "scripts"))


def test_a_cluster_with_the_uri_of_the_bundle_is_created_after_the_upload(stack: cdk.Stack) -> None:
    bundle = _bundle(stack)
    (logical_id,) = Template.from_stack(stack).find_resources("Custom::LlmFleetBundle")
    assert stack.resolve(bundle.source_s3_uri) == {"Fn::GetAtt": [logical_id, "SourceS3Uri"]}
    assert stack.resolve(bundle.prefix) == {"Fn::GetAtt": [logical_id, "Prefix"]}


def _on_parallelcluster() -> NodeManifest:
    hook = ParallelClusterHook.ON_NODE_CONFIGURED
    head = NodeGroup(name="HeadNode", role=NodeType.CONTROLLER, instance_types=["m5.xlarge"], hook=hook)
    platform = NodePlatform.PARALLELCLUSTER
    return replace(_manifest(), platform=platform, groups=[head])


def test_on_parallelcluster_entry_and_pointer_have_their_own_keys(stack: cdk.Stack) -> None:
    bundle = _bundle(stack, manifest=_on_parallelcluster())
    (logical_id,) = Template.from_stack(stack).find_resources("Custom::LlmFleetBundle")
    tokens = [bundle.entry_s3_uri, bundle.pointer_s3_uri, bundle.checksums_sha256]
    attributes = ["EntryS3Uri", "PointerS3Uri", "ChecksumsSha256"]
    assert stack.resolve(tokens) == [{"Fn::GetAtt": [logical_id, name]} for name in attributes]
    assert _properties(stack)["Entry"] == "on_node_configured.sh"


def test_on_hyperpod_there_is_no_stable_entry(stack: cdk.Stack) -> None:
    bundle = _bundle(stack)
    assert "Entry" not in _properties(stack)
    for name in ("entry_s3_uri", "pointer_s3_uri"):
        with pytest.raises(ValueError, match="Bundle: only ParallelCluster's nodes"):
            getattr(bundle, name)


def test_on_parallelcluster_the_bucket_can_have_any_name(stack: cdk.Stack) -> None:
    ours = s3.Bucket.from_bucket_name(stack, "Ours", "our-scripts")
    _bundle(stack, manifest=_on_parallelcluster(), bucket=ours)
    with raises_codes(["LF401"]):
        _bundle(stack, "Other", bucket=ours)


def test_the_upload_has_the_hashes_to_verify(stack: cdk.Stack) -> None:
    bundle = _bundle(stack)
    properties = _properties(stack)
    assert properties["ContentHash"] == bundle.content_hash
    assert properties["Root"] == bundle.root == "bundles/demo/train"
    assert properties["ChecksumsSha256"] == sha256(checksums(read_scripts(default_folder())))
    manifest = json.loads(properties["Manifest"])
    assert manifest["content_hash"] == bundle.content_hash
    assert manifest["scripts_sha256"] == properties["ChecksumsSha256"]


def test_tokens_in_the_manifest_are_resolved_by_cloudformation(stack: cdk.Stack) -> None:
    _bundle(stack, manifest=_manifest(dns_name=cdk.Fn.import_value("dns")))
    delimiter, parts = _properties(stack)["Manifest"]["Fn::Join"]
    assert {"Fn::ImportValue": "dns"} in parts
    filled = delimiter.join("fs-9.example" if isinstance(part, dict) else part for part in parts)
    assert json.loads(filled)["mounts"][0]["dns_name"] == "fs-9.example"


def test_the_same_contents_have_the_same_hash_in_every_synth(app: cdk.App) -> None:
    hashes: set[str] = set()
    for number in range(2):
        stack = cdk.Stack(app, f"Synth{number}")
        for _ in range(number * 7):  # moves the numbers in the tokens that follow
            str(cdk.Fn.ref("AWS::Region"))
        hashes.add(_bundle(stack, manifest=_manifest(dns_name=cdk.Fn.import_value("dns"))).content_hash)
    assert len(hashes) == 1


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the script of a custom step."""
    script = tmp_path / "mine" / "tools.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/bash\ntrue\n")
    script.chmod(0o755)
    return script.parent


TOOLS = OwnStep(name="tools", script="tools.sh")


def _with_tools(folder: Path) -> NodeManifest:
    return replace(_manifest(), scripts=NodeScripts(own=OwnSteps(folder=folder, steps=[TOOLS])))


def test_custom_scripts_are_stored_next_to_the_shipped_ones(app: cdk.App, stack: cdk.Stack, own: Path) -> None:
    _bundle(stack, manifest=_with_tools(own))
    properties = _properties(stack)
    with zipfile.ZipFile(Path(app.outdir, f"asset.{properties['SourceKey']}")) as archive:
        held = set(archive.namelist())
        assert archive.read("own/tools.sh") == b"#!/bin/bash\ntrue\n"
    assert held == {"own/tools.sh", *(file.path for file in read_scripts(default_folder()))}
    (step,) = json.loads(properties["Manifest"])["steps"]["own"]
    assert step["script"] in held, "the manifest names it as the bundle has it"


def test_a_changed_custom_script_changes_the_hash(app: cdk.App, own: Path) -> None:
    manifest = _with_tools(own)
    before = _bundle(cdk.Stack(app, "Before"), manifest=manifest).content_hash
    (own / "tools.sh").write_text("#!/bin/bash\nfalse\n")
    assert _bundle(cdk.Stack(app, "After"), manifest=manifest).content_hash != before


@pytest.mark.parametrize(
    ("text", "codes"),
    [(None, ["LF425"]), ("#!/bin/bash\r\ntrue\r\n", ["LF404", "LF425"]), ("#!/bin/bash\n", [])],
)
def test_custom_scripts_are_checked(stack: cdk.Stack, own: Path, text: str | None, codes: list[str]) -> None:
    (own / "tools.sh").unlink()
    (own / "tools.sh" if text else own / "other.sh").write_bytes((text or "#!/bin/bash\n").encode())
    for script in own.iterdir():
        script.chmod(0o755)
    with raises_codes(codes):
        _bundle(stack, manifest=_with_tools(own))


def test_a_manifest_too_long_for_its_request_is_rejected(stack: cdk.Stack) -> None:
    users = [ClusterUser(name=f"u{number}", uid=2000 + number) for number in range(2, 3000)]
    with raises_codes([]):
        _bundle(stack, "Small", manifest=replace(_manifest(), spec=ClusterSpec(users=users[:1000])))
    with raises_codes(["LF407"]):
        _bundle(stack, manifest=replace(_manifest(), spec=ClusterSpec(users=users)))


def test_a_changed_script_changes_the_hash_and_the_archive(app: cdk.App, scripts: Path) -> None:
    before = cdk.Stack(app, "Before")
    first = _bundle(before, scripts=scripts)
    with (scripts / "on_init_complete.sh").open("a") as file:
        file.write("# changed\n")
    after = cdk.Stack(app, "After")
    second = _bundle(after, scripts=scripts)
    assert first.content_hash != second.content_hash
    assert _properties(before)["SourceKey"] != _properties(after)["SourceKey"]


def test_the_archive_contains_exactly_the_hashed_files(app: cdk.App, stack: cdk.Stack) -> None:
    _bundle(stack)
    key = _properties(stack)["SourceKey"]
    with zipfile.ZipFile(Path(app.outdir, f"asset.{key}")) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert held == {file.path: file.data for file in read_scripts(default_folder())}


def test_the_archive_of_the_function_contains_its_handler(app: cdk.App, stack: cdk.Stack, tmp_path: Path) -> None:
    _bundle(stack)
    (function,) = Template.from_stack(stack).find_resources("AWS::Lambda::Function").values()
    archive = Path(app.outdir, f"asset.{function['Properties']['Code']['S3Key']}")
    shutil.unpack_archive(archive, tmp_path / "task", "zip")
    module, name = function["Properties"]["Handler"].rsplit(".", 1)
    subprocess.run(
        [sys.executable, "-c", f"import sys; from {module} import {name}; assert 'llm_fleet' not in sys.modules"],
        cwd=tmp_path / "task",
        check=True,
    )


def test_two_bundles_share_one_function_and_have_their_own_statements(stack: cdk.Stack) -> None:
    bucket = LifecycleBucket(stack, "Bucket", name_part="demo").bucket
    _bundle(stack, "One", bucket=bucket)
    _bundle(stack, "Two", bucket=bucket, manifest=_manifest(cluster="other"))
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::Lambda::Function", 1)
    (policy,) = template.find_resources("AWS::IAM::ManagedPolicy").values()
    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    assert len({statement["Sid"] for statement in statements}) == len(statements) == 5


def test_the_function_can_only_read_its_archive_and_write_below_the_root(stack: cdk.Stack) -> None:
    key = cast(kms.IKey, kms.Key(stack, "Key"))
    bucket = LifecycleBucket(stack, "Bucket", name_part="demo", encryption_key=key).bucket
    _bundle(stack, bucket=bucket)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy").values()
    allowed = {s["Sid"][:4]: s for s in policy["Properties"]["PolicyDocument"]["Statement"]}
    source_key = _properties(stack)["SourceKey"]
    assert allowed["Read"]["Action"] == "s3:GetObject"
    assert json.dumps(allowed["Read"]["Resource"]).endswith(f'/{source_key}"')
    assert allowed["Writ"]["Action"] == "s3:PutObject"
    assert allowed["Writ"]["Resource"]["Fn::Join"][1][1] == "/bundles/demo/train/*"
    assert [s["Action"] for sid, s in allowed.items() if sid.startswith("Key")] == ["kms:GenerateDataKey"]


def test_a_cluster_without_a_name_has_a_unique_root(stack: cdk.Stack) -> None:
    bundle = _bundle(stack, manifest=_manifest(cluster=None))
    assert bundle.root == f"bundles/demo/{bundle.node.addr[-8:]}"


def test_all_problems_of_scripts_and_bucket_are_reported_before_anything_is_created(
    stack: cdk.Stack, scripts: Path
) -> None:
    (scripts / "on_init_complete.sh").unlink()
    (scripts / "enter.sh").chmod(0o644)
    (scripts / "README.md").write_bytes(b"a\r\n")
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "my-bucket")
    with pytest.raises(FleetError) as caught:
        _bundle(stack, bucket=bucket, scripts=scripts)
    assert [problem.code.value for problem in caught.value.problems] == ["LF403", "LF404", "LF405", "LF401"]
    assert "Test/Bundle" in str(caught.value)
    Template.from_stack(stack).resource_count_is("Custom::LlmFleetBundle", 0)


def test_a_group_with_its_own_hook_requires_the_script_of_the_hook(stack: cdk.Stack, scripts: Path) -> None:
    (scripts / "on_create.sh").unlink()
    _bundle(stack, scripts=scripts)
    with pytest.raises(FleetError, match="LF403"):
        _bundle(stack, "Custom", scripts=scripts, manifest=_manifest(hook=LifecycleHook.ON_CREATE))


def test_a_group_can_run_a_custom_script(stack: cdk.Stack, scripts: Path) -> None:
    (scripts / "on_init_complete.sh").rename(scripts / "mine.sh")
    _bundle(stack, scripts=scripts, manifest=_manifest(script="mine.sh"))
    with pytest.raises(FleetError, match=r"does not contain yours\.sh"):
        _bundle(stack, "Other", scripts=scripts, manifest=_manifest(script="yours.sh"))


def test_an_imported_bucket_whose_name_is_a_token_passes(stack: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_arn(stack, "Bucket", cdk.Fn.import_value("arn"))
    _bundle(stack, bucket=bucket)


def test_grant_read_allows_only_to_read_and_list_below_the_root(stack: cdk.Stack) -> None:
    role = iam.Role(stack, "Role", assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("sagemaker.amazonaws.com")))
    _bundle(stack).grant_read(role)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    read, listing = policy["Properties"]["PolicyDocument"]["Statement"]
    assert read["Action"] == "s3:GetObject"
    assert read["Resource"]["Fn::Join"][1][1] == "/bundles/demo/train/*"
    assert listing["Action"] == "s3:ListBucket"
    prefixes = ["bundles/demo/train", "bundles/demo/train/*"]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": prefixes}}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same stack", "bucket in another stack"])
def test_nag_finds_nothing(app: cdk.App, stack: cdk.Stack, elsewhere: bool) -> None:
    holder = cdk.Stack(app, "Other", env=cdk.Environment(account=stack.account, region=stack.region))
    bucket = LifecycleBucket(holder if elsewhere else stack, "Bucket", name_part="demo").bucket
    _bundle(stack, bucket=bucket)
    assert _findings(app) == set()


def test_without_acknowledgments_nag_has_findings(
    app: cdk.App, stack: cdk.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(cdk.Validations, "acknowledge", nothing)
    _bundle(stack)
    found = _findings(app)
    assert {"AwsSolutions-L1", "AwsSolutions-S1", "NIST.800.53.R5-LambdaInsideVPC"} <= found
    assert any(finding.startswith("AwsSolutions-IAM5[Resource::<BundleBucket") for finding in found)


def _findings(app: cdk.App) -> set[str]:
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    with suppress(RuntimeError):  # the report reports what was found
        app.synth()
    report = json.loads(Path(app.outdir, "validation-report.json").read_text(encoding="utf-8"))
    return {violation["ruleName"] for plugin in report["pluginReports"] for violation in plugin["violations"]}
