"""Users in the fleet file: one id for each user, home directories, accounts with limits, LDAP directories."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError

SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"
DIRECTORY: dict[str, Any] = {
    "domain": "corp.example.com",
    "uris": ["ldaps://ldap.corp.example.com"],
    "base_dn": "dc=corp,dc=example,dc=com",
    "bind_dn": "cn=reader,dc=corp,dc=example,dc=com",
    "bind_secret": SECRET,
    "ca_certificate": "/etc/ssl/certs/corp.pem",
    "sssd_on_image": True,
}
FSX = {"fsx": {"size": "4800 GiB", "throughput": "250 MB/s/TiB"}}


def hyperpod(**more: Any) -> dict[str, Any]:
    groups = {"controller": {"role": "controller", "type": "ml.m5.xlarge", "count": 1}}
    return {"kind": "hyperpod", "groups": groups, **more}


def parallelcluster(**more: Any) -> dict[str, Any]:
    return {
        "kind": "parallelcluster",
        "head": {"type": "m5.xlarge"},
        "queues": {"cpu": {"type": "c6i.8xlarge", "max": 2}},
        **more,
    }


def parsed(*, directory_of_file: Path | None = None, **keys: Any) -> Fleet:
    document = {"fleet": "people", "region": "us-west-2", "network": {"az": "usw2-az4"}, **keys}
    return parse_fleet(yaml.safe_dump(document), directory=directory_of_file)


def reported(**keys: Any) -> dict[str, str]:
    """Return the codes of the errors by path."""
    try:
        parsed(**keys)
    except FleetError as error:
        return {problem.where: problem.code.value for problem in error.problems}
    return {}


def words(**keys: Any) -> str:
    with pytest.raises(FleetError) as error:
        parsed(**keys)
    return str(error.value)


def test_users_of_the_fleet_and_of_a_cluster_are_merged() -> None:
    fleet = parsed(
        storage=FSX,
        users={"ada": {"uid": 2001}, "bob": {"uid": 2002}},
        clusters={
            "a": hyperpod(users={"ada": {"uid": 2001, "sudo": True}}),
            "b": hyperpod(users={"eve": {"uid": 2003}}),
        },
    )
    a, b = fleet.clusters["a"], fleet.clusters["b"]
    assert [(name, user.sudo) for name, user in a.people.items()] == [("ada", True), ("bob", False)]
    assert list(b.people) == ["ada", "bob", "eve"]


def test_two_users_with_one_id_are_reported_at_the_keys_of_the_file() -> None:
    text = words(
        storage=FSX, clusters={"a": hyperpod(users={"ada": {"uid": 2001}}), "b": hyperpod(users={"bob": {"uid": 2001}})}
    )
    assert "clusters.b.users.bob.uid  [LF1201]" in text
    assert "ada in cluster a and bob in cluster b have the same user id, and their clusters share a file system" in text
    assert "give bob an id that no other user" in text


@pytest.mark.parametrize(
    ("storage", "users", "a", "b", "expected"),
    [
        # One user with two ids: reported with and without shared files.
        ({}, {}, {"ada": {"uid": 2001}}, {"ada": {"uid": 2005}}, {"clusters.b.users.ada.uid": "LF1200"}),
        (FSX, {"ada": {"uid": 2001}}, {"ada": {"uid": 2001, "gid": 3000}}, {}, {"clusters.a.users.ada.gid": "LF1200"}),
        # One id for two users: reported if files are shared, and always within one cluster.
        (FSX, {"ada": {"uid": 2001}}, {"bob": {"uid": 2001}}, {}, {"clusters.a.users.bob.uid": "LF1201"}),
        ({}, {"ada": {"uid": 2001}}, {"bob": {"uid": 2001}}, {}, {"clusters.a.users.bob.uid": "LF1201"}),
        ({}, {}, {"ada": {"uid": 2001}}, {"bob": {"uid": 2001}}, {}),
        ({}, {"ada": {"uid": 2001}, "bob": {"uid": 2001}}, {}, {}, {"users.bob.uid": "LF414"}),
        # Ids and names that are already used, also at the top of the file.
        ({}, {"ada": {"uid": 1000}}, {}, {}, {"users.ada.uid": "LF413"}),
        ({}, {"ada": {"uid": 65534}}, {}, {}, {"users.ada.uid": "LF413"}),
        ({}, {"ubuntu": {"uid": 2001}}, {}, {}, {"users.ubuntu": "LF412"}),
        # Homes.
        (FSX, {"ada": {"uid": 2001, "home": "/fsx/people/ada"}}, {}, {}, {}),
        (FSX, {"ada": {"uid": 2001, "home": "/data/ada"}}, {}, {}, {"users.ada.home": "LF1203"}),
        ({}, {"ada": {"uid": 2001, "home": "/data/ada"}}, {}, {}, {}),
        ({}, {"ada": {"uid": 2001, "home": "data/ada"}}, {}, {}, {"users.ada.home": "LF1202"}),
        ({}, {"ada": {"uid": 2001, "home": "/etc/ada"}}, {}, {}, {"users.ada.home": "LF1202"}),
        ({}, {"ada": {"uid": 2001, "home": "/home"}}, {}, {}, {"users.ada.home": "LF1202"}),
        ({}, {"ada": {"uid": 2001, "home": "/home/a:b"}}, {}, {}, {"users.ada.home": "LF1202"}),
        (
            {},
            {"ada": {"uid": 2001, "home": "/data/x"}, "bob": {"uid": 2002, "home": "/data/x"}},
            {},
            {},
            {"users.bob.home": "LF1204"},
        ),
    ],
)
def test_ids_and_home_directories(
    storage: dict[str, Any], users: dict[str, Any], a: dict[str, Any], b: dict[str, Any], expected: dict[str, str]
) -> None:
    clusters = {"a": hyperpod(users=a), "b": hyperpod(users=b)}
    found = reported(**({"storage": storage} if storage else {}), users=users, clusters=clusters)
    assert {place.removesuffix(".name"): code for place, code in found.items()} == expected


def test_users_of_the_fleet_require_lifecycle_scripts() -> None:
    found = reported(users={"ada": {"uid": 2001}}, clusters={"a": hyperpod(lifecycle="none")})
    assert found == {"clusters.a.users": Code.NODE_SETTINGS_UNUSED.value}


@pytest.mark.parametrize(
    ("accounts", "place", "code"),
    [
        ({"root": {}}, "slurm_accounts.root", "LF1205"),
        ({"Lab": {}}, "slurm_accounts.Lab", "LF1205"),
        ({"lab": {"parent": "top"}}, "slurm_accounts.lab.parent", "LF1206"),
        ({"lab": {"parent": "lab"}}, "slurm_accounts.lab.parent", "LF1206"),
        ({"lab": {"max_jobs": -1}}, "slurm_accounts.lab.max_jobs", "LF1207"),
        ({"lab": {"grp_tres": {"gpus": 8}}}, "slurm_accounts.lab.grp_tres.gpus", "LF1208"),
        ({"lab": {"max_wall": "90 s"}}, "slurm_accounts.lab.max_wall", "LF115"),
        ({"lab": {"max_nodes": 4}}, "slurm_accounts.lab.max_nodes", "LF1"),
    ],
)
def test_accounts_that_slurm_rejects_are_reported(accounts: dict[str, Any], place: str, code: str) -> None:
    found = reported(clusters={"a": hyperpod(slurm_accounts=accounts)})
    where = {key.removesuffix(".name"): value for key, value in found.items()}
    assert where.get(f"clusters.a.{place}", "").startswith(code), found


def test_a_user_without_an_account_or_with_an_unknown_account_is_reported() -> None:
    lab = {"lab": {"grp_tres": {"node": 16, "gres/gpu": 128}, "max_wall": "2 days", "fairshare": 10}}
    clusters = {"a": hyperpod(slurm_accounts=lab, users={"bob": {"uid": 2002, "account": "lba"}})}
    found = reported(users={"ada": {"uid": 2001}}, clusters=clusters)
    assert found == {"users.ada.account": "LF1210", "clusters.a.users.bob.account": "LF1211"}
    assert reported(users={"ada": {"uid": 2001, "account": "lab"}}, clusters={"a": hyperpod(slurm_accounts=lab)}) == {}


@pytest.mark.parametrize(
    ("cluster", "code"),
    [
        (hyperpod(slurm_accounts={"lab": {}}, provisioning="none", slurm_config="Managed"), "LF1212"),
        (hyperpod(slurm_accounts={"lab": {}}, provisioning="none", slurm_config="Managed", lifecycle="OnCreate"), None),
        (hyperpod(slurm_accounts={"lab": {}}, provisioning="none"), None),
        (parallelcluster(slurm_accounts={"lab": {}}), "LF1209"),
        (
            parallelcluster(
                slurm_accounts={"lab": {}},
                accounting={"slurmdbd": "db.example", "munge_key": SECRET},
                slurm={"settings": [{"AccountingStorageEnforce": "associations"}]},
            ),
            "LF1212",
        ),
        (
            parallelcluster(slurm_accounts={"lab": {}}, accounting={"slurmdbd": "db.example", "munge_key": SECRET}),
            None,
        ),
    ],
)
def test_accounts_require_accounting_and_enforced_limits(cluster: dict[str, Any], code: str | None) -> None:
    assert reported(clusters={"a": cluster}) == ({"clusters.a.slurm_accounts": code} if code else {})


@pytest.mark.parametrize(
    ("changed", "key", "code"),
    [
        ({}, None, None),
        ({"uris": ["ldap://ldap.corp.example.com"]}, "uris[0]", "LF1213"),
        ({"uris": ["ldap://ldap.corp.example.com"], "start_tls": True}, None, None),
        ({"start_tls": True}, "uris[0]", "LF1213"),
        ({"uris": []}, "uris", "LF1213"),
        ({"uris": ["ldap.corp.example.com"]}, "uris[0]", "LF1213"),
        ({"bind_dn": "reader"}, "bind_dn", "LF1215"),
        ({"base_dn": "dc=corp\nldap_tls_reqcert = never"}, "base_dn", "LF1215"),
        ({"user_filter": "memberOf=fleet"}, "user_filter", "LF1215"),
        ({"user_filter": "(&(a=b)"}, "user_filter", "LF1215"),
        ({"sudo_groups": ["a,b ALL"]}, "sudo_groups", "LF1215"),
        ({"home": "/home/ada"}, "home", "LF1215"),
        ({"first_id": 1500, "last_id": 9000}, "first_id", "LF1216"),
        ({"first_id": 9000, "last_id": 1500}, "first_id", "LF1215"),
        ({"sssd_on_image": False}, "sssd_on_image", "LF1217"),
    ],
)
def test_errors_in_directories_are_reported(changed: dict[str, Any], key: str | None, code: str | None) -> None:
    directory = {**DIRECTORY, **changed}
    clusters = {"a": hyperpod()}
    found = reported(users={"ada": {"uid": 2001}}, directory=directory, clusters=clusters)
    assert found == ({f"directory.{key}": code} if key else {})
    own = reported(users={"ada": {"uid": 2001}}, clusters={"a": hyperpod(directory=directory)})
    assert own == ({f"clusters.a.directory.{key}": code} if key else {})


def test_the_ca_certificate_of_a_directory_must_be_a_valid_file(tmp_path: Path) -> None:
    directory = {**DIRECTORY, "ca_certificate": "ca.pem"}
    keys: dict[str, Any] = {"directory_of_file": tmp_path, "directory": directory}
    assert reported(**keys, clusters={"a": hyperpod()}) == {"directory.ca_certificate": "LF1214"}
    (tmp_path / "ca.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    assert "contains a private key" in words(**keys, clusters={"a": hyperpod()})
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert reported(**keys, clusters={"a": hyperpod()}) == {}
    assert "before scripts could copy" in words(**keys, clusters={"a": parallelcluster()})


def test_a_directory_and_parallelclusters_own_section_exclude_each_other() -> None:
    overrides = {"DirectoryService": {"DomainName": "corp.example.com"}}
    found = reported(directory=DIRECTORY, clusters={"a": parallelcluster(overrides=overrides)})
    assert found["directory"] == "LF1218"
    assert reported(directory=DIRECTORY, clusters={"a": parallelcluster()}) == {}
