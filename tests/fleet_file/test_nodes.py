"""Node settings of a fleet file: read into the models, and checked at their keys."""

import json
from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import NodeReports, NodeType
from tests.fleet_file.good_fleet import edited

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA ada@laptop"
NODE_SETTINGS = f"""\
    accounting: local
    reports: s3
    users:
      ada: {{uid: 2001, gid: 3000, sudo: true, ssh_keys: ["{KEY}"], account: research}}
    s3_mounts:
      - {{bucket: data, prefix: tokenized, mount: /s3/data, groups: [workers]}}
      - {{bucket: "s3://mine", mount: /s3/mine, read_only: false}}
    neuron: {{release: "2.28.1"}}
    downloads: {{lock: lock.json, mirror: "s3://my-mirror/packages/"}}
    scripts:
      skip: [exporters]
      own:
        folder: steps
        steps:
          tools: {{script: tools.sh, roles: [login, compute], needs: [mount_lustre], timeout: 10 min, retries: 2}}
"""


def with_settings(*edits: str) -> str:
    text = edited("kind: hyperpod\n", f"kind: hyperpod\n{NODE_SETTINGS}")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


def problems(text: str, directory: Path | None = None) -> list[tuple[str, str]]:
    try:
        parse_fleet(text, directory=directory)
    except FleetError as error:
        return [(problem.code.value, problem.where) for problem in error.problems]
    return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a fleet file, with valid scripts and lock file."""
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps/tools.sh").write_text("#!/bin/bash\n")
    (tmp_path / "lock.json").write_text(json.dumps({"schema_version": 1, "files": []}))
    (tmp_path / "fleet.yaml").write_text(with_settings())
    return tmp_path


def test_all_settings_are_read(folder: Path) -> None:
    cluster = load_fleet(folder / "fleet.yaml").hyperpod_clusters["ml"]
    assert cluster.accounting_database is None
    assert cluster.reports is NodeReports.S3
    (user,) = cluster.users
    assert (user.name, user.uid, user.gid, user.sudo, user.slurm_account) == ("ada", 2001, 3000, True, "research")
    assert user.ssh_public_keys == (KEY,)
    assert [(mount.mount_path, mount.read_only, mount.groups) for mount in cluster.s3_mounts] == [
        ("/s3/data", True, ("workers",)),
        ("/s3/mine", False, None),
    ]
    assert cluster.neuron is not None
    assert (cluster.neuron.release, cluster.neuron.install) == ("2.28.1", False)
    assert cluster.downloads is not None
    assert cluster.downloads.lock_path == folder / "lock.json"
    assert (cluster.downloads.mirror_name, cluster.downloads.mirror_prefix) == ("my-mirror", "packages")
    assert cluster.scripts.skip_steps == ("exporters",)
    (step,) = cluster.scripts.own_steps
    assert (step.name, step.roles, step.timeout_seconds) == ("tools", (NodeType.LOGIN, NodeType.COMPUTE), 600)


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        ("uid: 2001", "uid: 1000", "LF413", "users.ada.uid"),
        ("uid: 2001", "uid: '2001'", "LF113", "users.ada.uid"),
        ("uid: 2001, ", "", "LF111", "users.ada.uid"),
        ("gid: 3000", "gid: 4", "LF413", "users.ada.gid"),
        ("ada: {", "root: {", "LF412", "users.root"),
        ("ssh-ed25519 A", "ssh-ed25519 B", "LF415", "users.ada.ssh_keys[0]"),
        ("account: research", "account: Research", "LF416", "users.ada.account"),
        ("accounting: local", "accounting: none", "LF113", "accounting"),
        ("reports: s3", "reports: off", "LF114", "reports"),
        ("/s3/mine", "/s3/data/mine", "LF418", "s3_mounts[1].mount"),
        ("/s3/mine", "/fsx", "LF418", "s3_mounts[1].mount"),
        ("prefix: tokenized", "prefix: /tokenized", "LF417", "s3_mounts[0].prefix"),
        ("groups: [workers]", "groups: [worker]", "LF417", "s3_mounts[0].groups[0]"),
        ("bucket: data,", "bucket: date,", "LF119", "s3_mounts[0].bucket"),
        ("s3://mine", "s3://mine/folder", "LF340", "s3_mounts[1].bucket"),
        ('release: "2.28.1"', "release: 2.28", "LF113", "neuron.release"),
        ('release: "2.28.1"', 'release: "2.28"', "LF450", "neuron.release"),
        ("s3://my-mirror/packages/", "my-mirror", "LF428", "downloads.mirror"),
        ("s3://my-mirror/packages/", "s3://my-mirror/a//b", "LF428", "downloads.mirror"),
        ("skip: [exporters]", "skip: [exporter]", "LF421", "scripts.skip[0]"),
        ("tools: {", "users: {", "LF422", "scripts.own.steps.users"),
        ("needs: [mount_lustre]", "needs: [mount_luster]", "LF421", "scripts.own.steps.tools.needs[0]"),
        ("needs: [mount_lustre]", "needs: [tools]", "LF423", "scripts.own.steps.tools.needs"),
        ("roles: [login, compute]", "roles: []", "LF424", "scripts.own.steps.tools.roles"),
        ("roles: [login, compute]", "roles: [Login]", "LF114", "scripts.own.steps.tools.roles[0]"),
        ("timeout: 10 min", "timeout: 3 h", "LF426", "scripts.own.steps.tools.timeout"),
        ("retries: 2", "retries: 11", "LF426", "scripts.own.steps.tools.retries"),
    ],
)
def test_a_mistake_is_reported_once_at_its_key(folder: Path, old: str, new: str, code: str, where: str) -> None:
    assert problems(with_settings(old, new), folder) == [(code, f"clusters.ml.{where}")]


def test_local_accounting_requires_no_other_key() -> None:
    assert problems(edited("kind: hyperpod\n", "kind: hyperpod\n    accounting: local\n")) == []


def test_files_are_searched_relative_to_the_fleet_file(folder: Path) -> None:
    assert problems(with_settings()) == [], "without a directory, files are not checked"
    assert problems(with_settings(), folder) == []
    (folder / "steps/tools.sh").write_bytes(b"#!/bin/bash\r\n")
    assert problems(with_settings(), folder) == [("LF425", "clusters.ml.scripts.own.steps.tools.script")]
    (folder / "steps/tools.sh").rename(folder / "steps/tool.sh")
    with pytest.raises(FleetError, match=r"write `tool\.sh`"):
        load_fleet(folder / "fleet.yaml")
    assert problems(with_settings("folder: steps", "folder: nowhere"), folder) == [
        ("LF425", "clusters.ml.scripts.own.folder")
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema_version": 1, "files": [{}]}'])
def test_an_invalid_or_missing_lock_file_is_reported(folder: Path, text: str) -> None:
    (folder / "lock.json").write_text(text)
    assert set(problems(with_settings(), folder)) == {("LF427", "clusters.ml.downloads.lock")}
    (folder / "lock.json").unlink()
    assert problems(with_settings(), folder) == [("LF427", "clusters.ml.downloads.lock")]


def test_neuron_is_installed_only_from_pinned_packages(folder: Path) -> None:
    text = with_settings('release: "2.28.1"', 'release: "2.28.1", host: install')
    assert problems(text, folder) == [("LF453", "clusters.ml.neuron.host")]


def test_neuron_requires_neuron_devices(folder: Path) -> None:
    assert problems(with_settings("ml.trn1.32xlarge", "ml.c5.large"), folder) == [
        ("LF452", "clusters.ml.neuron.release")
    ]


def test_a_misspelled_instance_type_is_not_reported_as_missing_neuron_devices(folder: Path) -> None:
    assert problems(with_settings("ml.trn1.32xlarge", "ml.trn1.23xlarge"), folder) == [
        ("LF507", "clusters.ml.groups.workers.type")
    ]


@pytest.mark.parametrize(
    "edits",
    [
        ("    accounting: local\n", "    accounting: local\n    lifecycle: none\n"),
        ("      skip: [exporters]\n", "      skip: [exporters]\n      bucket: sagemaker-a\n      prefix: v1\n"),
    ],
    ids=["no scripts", "scripts in S3"],
)
def test_settings_without_lifecycle_scripts_of_llm_fleet_are_errors(folder: Path, edits: tuple[str, str]) -> None:
    keys = ["users", "s3_mounts", "neuron", "downloads", "scripts.skip", "scripts.own"]
    assert problems(with_settings(*edits), folder) == [("LF429", f"clusters.ml.{key}") for key in keys]


def test_a_mirror_can_be_a_whole_bucket_and_is_optional() -> None:
    whole = parse_fleet(with_settings("s3://my-mirror/packages/", "s3://my-mirror")).hyperpod_clusters["ml"].downloads
    assert whole is not None
    assert (whole.mirror_name, whole.mirror_prefix) == ("my-mirror", None)
    vendors = parse_fleet(with_settings(', mirror: "s3://my-mirror/packages/"', "")).hyperpod_clusters["ml"].downloads
    assert vendors is not None
    assert vendors.mirror_name is None


def test_a_misspelled_local_accounting_gets_a_suggestion() -> None:
    with pytest.raises(FleetError) as raised:
        parse_fleet(edited("kind: hyperpod\n", "kind: hyperpod\n    accounting: locl\n"))
    (problem,) = raised.value.problems
    assert problem.remedy.endswith("`accounting: local`")
