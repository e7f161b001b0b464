"""The step slurm_packages: the platform's Slurm takes precedence over the distribution's."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.manifest_parts import Accounting
from llm_fleet_node.slurm.installation import find, found
from llm_fleet_node.steps import slurm_packages
from llm_fleet_node.steps.slurm_packages import STEP
from tests.lifecycle_scripts.slurm.slurm_node import LOCAL, bare, on_ami
from tests.lifecycle_scripts.step_node import file, make


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the requested packages."""
    names: list[str] = []
    monkeypatch.setattr(slurm_packages, "install", lambda _, wanted: names.extend(wanted))  # type: ignore[misc]
    return names


def test_with_the_platforms_slurm_nothing_is_installed(tmp_path: Path, installed: list[str]) -> None:
    STEP.apply(on_ami(tmp_path))
    assert installed == []


@pytest.mark.parametrize(
    ("role", "accounting", "more"),
    [
        ("Compute", LOCAL, {"slurmd"}),
        ("Login", LOCAL, {"slurmd"}),
        ("Controller", None, {"slurmctld"}),
        ("Controller", LOCAL, {"slurmctld", "slurmdbd", "slurm-wlm-mysql-plugin", "mariadb-server", "mariadb-client"}),
        (
            "Controller",
            Accounting("external", "db", 1, "d", "arn"),
            {"slurmctld", "slurmdbd", "slurm-wlm-mysql-plugin"},
        ),
    ],
)
def test_a_node_without_platform_gets_the_packages_of_its_role(
    tmp_path: Path, installed: list[str], role: str, accounting: Accounting | None, more: set[str]
) -> None:
    node = make(tmp_path, role=role, accounting=accounting)
    file(tmp_path, "/usr/bin/apt-get", "", 0o755)
    STEP.apply(node)
    assert set(installed) == {"munge", "slurm-client", "slurm-wlm-basic-plugins", *more}


def test_a_distribution_without_slurm_is_reported(tmp_path: Path, installed: list[str]) -> None:
    with pytest.raises(Failure, match=r"LFN55") as caught:
        STEP.apply(make(tmp_path))
    assert (caught.value.final, installed) == (True, [])


@pytest.mark.parametrize("missing", ["scontrol", "munged", "slurmd"])
def test_verify_detects_each_missing_program(tmp_path: Path, missing: str) -> None:
    node = make(tmp_path)
    for name in {"scontrol", "munged", "slurmd"} - {missing}:
        file(tmp_path, f"/usr/bin/{name}", "", 0o755)
    with pytest.raises(Failure, match=f"LFN55  {missing} is missing, which a Compute node requires"):
        STEP.verify(node)
    file(tmp_path, f"/usr/bin/{missing}", "", 0o755)
    STEP.verify(node)


def test_of_two_installations_the_platforms_is_used(tmp_path: Path) -> None:
    bare(tmp_path)
    slurm = found(Host(tmp_path))
    assert (slurm.etc, slurm.by_platform) == ("/etc/slurm", False)
    file(tmp_path, "/opt/slurm-24.11/sbin/slurmd", "", 0o755)
    file(tmp_path, "/opt/slurm-25.11/sbin/slurmd", "", 0o755)
    (tmp_path / "opt/slurm").symlink_to("slurm-24.11")
    slurm = found(Host(tmp_path))
    assert (slurm.etc, slurm.by_platform) == ("/opt/slurm/etc", True)


def test_no_installation(tmp_path: Path) -> None:
    assert find(Host(tmp_path)) is None
    with pytest.raises(Failure, match=r"LFN55"):
        found(Host(tmp_path))


def test_the_old_configuration_folder_of_ubuntu(tmp_path: Path) -> None:
    file(tmp_path, "/usr/bin/scontrol", "", 0o755)
    (tmp_path / "etc/slurm-llnl").mkdir(parents=True)
    assert found(Host(tmp_path)).etc == "/etc/slurm-llnl"
