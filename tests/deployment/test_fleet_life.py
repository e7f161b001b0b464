"""A fleet's life in a local emulation: deployed, deployed again, changed, destroyed.

One fleet lives once, in the fixture; each test looks at a part of that life.
"""

import shutil
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llm_fleet.lifecycle import lifecycle_bundle
from llm_fleet_local.aws.assembly.report import DeploymentReport
from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import LAUNCH_POST, synthesize
from tests.deployment.fleet_on_aws import FleetOnAws
from tests.deployment.what_is_there import what_is_there


@dataclass(kw_only=True)
class Life:
    """What resulted from each step."""

    arn: str
    bundle: tuple[str, str]
    again: DeploymentReport
    larger: DeploymentReport
    larger_arn: str
    larger_count: int
    script: DeploymentReport
    script_arn: str
    script_bundle: tuple[str, str]
    script_text: bytes
    old_script_is_there: bool
    destroyed: DeploymentReport
    left: dict[str, list[str]]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, few_scripts: Path) -> Generator[Life]:
    folder = tmp_path_factory.mktemp("life")
    with LocalAws(region="us-west-2") as aws, pytest.MonkeyPatch.context() as monkeypatch:
        aws.bootstrap()
        before = what_is_there(aws)
        assembly = synthesize(folder / "first")
        assert aws.deploy(assembly).succeeded
        fleet = FleetOnAws(aws, assembly)
        arn, bundle = fleet.cluster["ClusterArn"], fleet.bundle
        again = aws.deploy(synthesize(folder / "again"))
        file = _larger(folder)
        larger = aws.deploy(synthesize(folder / "larger", file))
        larger_arn, larger_count = fleet.cluster["ClusterArn"], fleet.group("worker-group")["TargetCount"]
        scripts = _changed_scripts(few_scripts, folder)
        monkeypatch.setattr(lifecycle_bundle, "default_folder", lambda: scripts)
        last = synthesize(folder / "script", file)
        script = aws.deploy(last)
        yield Life(
            arn=arn,
            bundle=bundle,
            again=again,
            larger=larger,
            larger_arn=larger_arn,
            larger_count=larger_count,
            script=script,
            script_arn=fleet.cluster["ClusterArn"],
            script_bundle=fleet.bundle,
            script_text=fleet.bundle_object("on_init_complete.sh"),
            old_script_is_there=_is_there(aws, *bundle),
            destroyed=aws.destroy(last, unprotect=True),
            left={kind: sorted(set(found) - set(before[kind])) for kind, found in what_is_there(aws).items()},
        )


def _larger(folder: Path) -> Path:
    """The launch post's fleet with two workers more."""
    text = LAUNCH_POST.read_text(encoding="utf-8")
    assert "count: 4" in text
    file = folder / "larger.yaml"
    file.write_text(text.replace("count: 4", "count: 6"), encoding="utf-8")
    return file


def _changed_scripts(before: Path, folder: Path) -> Path:
    scripts = shutil.copytree(before, folder / "scripts")
    entry = scripts / "on_init_complete.sh"
    entry.write_text(entry.read_text() + "# changed\n")
    return scripts


def _is_there(aws: LocalAws, bucket: str, prefix: str) -> bool:
    found = aws.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/on_init_complete.sh")
    return found["KeyCount"] == 1


def test_deploying_again_changes_nothing(life: Life):
    assert life.again.succeeded
    assert not life.again.changed, life.again


def test_a_scaled_group_is_scaled_in_place(life: Life):
    assert life.larger.succeeded, life.larger
    assert (life.larger_arn, life.larger_count) == (life.arn, 6)


def test_a_changed_script_moves_the_bundle_and_updates_the_cluster(life: Life):
    assert {stack.name for stack in life.script.stacks if stack.changed} == {"launch-post-ml-cluster"}
    assert life.script_arn == life.arn, "the cluster was replaced, not updated"
    assert life.script_bundle[0] == life.bundle[0]
    assert life.script_bundle[1] != life.bundle[1]
    assert life.script_text.endswith(b"# changed\n")
    assert life.old_script_is_there


def test_destroy_leaves_only_what_is_retained(life: Life):
    assert life.destroyed.succeeded, life.destroyed
    # The file system, and what its network interfaces are in; buckets and flow logs, and the keys that read them.
    expected = {
        "file systems": 1, "buckets": 2, "keys": 2, "VPCs": 1, "subnets": 1, "security groups": 3, "interfaces": 1,
        "log groups": 1,
    }  # fmt: skip
    left = {kind: found for kind, found in life.left.items() if found}
    assert {kind: len(found) for kind, found in left.items()} == expected, left
