"""Volumes of the fleet's OpenZFS in addition to the home directories: errors are reported at their keys."""

import pytest

from llm_fleet.fleet_file.check_clusters import placed_parallelcluster
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file import good_fleet
from tests.fleet_file.good_parallelcluster import edited

AT = "storage.home.volumes"
CLUSTERS = "clusters:\n"


def storage(volumes: str, home: str = "size: 512 GiB") -> tuple[str, str]:
    return CLUSTERS, f"storage: {{home: {{{home}, volumes: {{{volumes}}}}}}}\n{CLUSTERS}"


def problems(text: str) -> list[Problem]:
    with pytest.raises(FleetError) as caught:
        parse_fleet(text)
    return list(caught.value.problems)


def test_every_parallelcluster_mounts_the_volumes():
    fleet = parse_fleet(edited(*storage("apps: {mount: /apps, quota: 512 GiB}, tools: {mount: /tools}")))
    home = fleet.storage.home
    assert home is not None
    assert {name: volume.quota_gib for name, volume in home.volumes.items()} == {"apps": 512, "tools": None}
    shape = placed_parallelcluster(fleet, fleet.parallelclusters["pc"])
    mounts = {each.name: (each.kind.value, each.mount_dir) for each in shape.shared_storage}
    assert mounts == {
        "home": ("FsxOpenZfs", "/home"),
        "apps": ("FsxOpenZfs", "/apps"),
        "tools": ("FsxOpenZfs", "/tools"),
    }


@pytest.mark.parametrize(
    ("edits", "code", "where"),
    [
        (storage("apps: {mount: /apps, quota: 513 GiB}"), "LF335", f"{AT}.apps.quota"),
        (storage("apps: {mount: /apps, quota: 200}"), "LF115", f"{AT}.apps.quota"),
        (storage("apps: {}"), "LF111", f"{AT}.apps.mount"),
        (storage("home: {mount: /apps}"), "LF334", f"{AT}.home"),
        (storage("my apps: {mount: /apps}"), "LF334", f"{AT}.my apps"),
        (storage("apps: {mount: /etc}"), "LF650", f"{AT}.apps.mount"),
        (storage("apps: {mount: /home/apps}"), "LF651", f"{AT}.apps.mount"),
        (storage("apps: {mount: /apps}, tools: {mount: /apps}"), "LF651", f"{AT}.tools.mount"),
        (storage("apps: {mount: /apps}", "existing: {id: fs-0123456789abcdef0}"), "LF117", AT),
        (
            (
                *storage("alice: {mount: /apps}"),
                "kind: parallelcluster",
                "kind: parallelcluster\n    users: {alice: {uid: 2001}}",
            ),
            "LF334",
            f"{AT}.alice",
        ),
    ],
)
def test_invalid_volumes_are_reported(edits: tuple[str, ...], code: str, where: str):
    assert (code, where) in {(problem.code.value, problem.where) for problem in problems(edited(*edits))}


def test_storage_of_a_cluster_cannot_have_the_name_of_a_volume():
    own = "kind: parallelcluster\n    storage: {apps: {type: Ebs, mount: /own, settings: {Size: 40}}}"
    (problem,) = problems(edited(*storage("apps: {mount: /apps}"), "kind: parallelcluster", own))
    assert problem.where == "clusters.pc.storage.apps"


def test_volumes_are_rejected_with_a_hyperpod_cluster():
    home = "  home: {volumes: {apps: {mount: /apps}}}"
    text = good_fleet.edited("storage:\n", f"storage:\n{home}\n")
    (problem,) = problems(text)
    assert (problem.code.value, problem.where) == ("LF336", AT)
    assert "remove `volumes`" in problem.remedy


def test_a_user_may_have_the_name_of_a_volume_if_home_is_mounted_elsewhere():
    users = "kind: parallelcluster\n    users: {alice: {uid: 2001}}"
    text = edited(*storage("alice: {mount: /apps}", "mount: /homes"), "kind: parallelcluster", users)
    assert parse_fleet(text).storage.home is not None
