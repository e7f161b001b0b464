"""The steps accounting_database and accounting."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.manifest_parts import Accounting
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import local_database, slurmdbd
from llm_fleet_node.step import ON_INIT_COMPLETE
from llm_fleet_node.steps.accounting import STEP
from llm_fleet_node.steps.accounting_database import STEP as DATABASE
from tests.lifecycle_scripts.convergence import again, applied, assert_fails, converges
from tests.lifecycle_scripts.slurm.slurm_node import (
    ETC,
    HEAD,
    IGNORED,
    LOCAL,
    calls,
    fails,
    on_ami,
    runs,
    says,
    starts,
    with_manifest,
)
from tests.lifecycle_scripts.step_node import file

EXTERNAL = Accounting("external", "db.example", 3307, "records", "arn:aws:secretsmanager:us-west-2:1:secret:x")
SECRET = "s3cr3t of the database"


@pytest.fixture(autouse=True)
def same_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_database.os, "urandom", b"\xab".__mul__)


def local(root: Path) -> Node:
    return on_ami(root, "Controller", accounting=LOCAL)


def local_with_database(root: Path) -> Node:
    node = local(root)
    DATABASE.apply(again(node, root))
    return node


def external(root: Path, accounting: Accounting = EXTERNAL) -> Node:
    node = on_ami(root, "Controller", accounting=accounting)
    file(root, "/fake/secret", json.dumps({"username": "slurm_user", "password": SECRET, "engine": "mariadb"}))
    (root / "etc/ssl/certs").mkdir(parents=True)
    return node


def test_making_the_database_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(DATABASE, local, tmp_path, ignore=IGNORED) == 6


def test_starting_slurmdbd_converges_after_a_kill(tmp_path: Path) -> None:
    assert converges(STEP, local_with_database, tmp_path, ignore=IGNORED) >= 4
    assert converges(STEP, external, tmp_path / "external", ignore=IGNORED) >= 6


def test_only_slurm_can_read_the_password_and_no_command_line_has_it(tmp_path: Path) -> None:
    node = local(tmp_path)
    applied(DATABASE, node)
    applied(STEP, node)
    conf = tmp_path / "opt/slurm/etc/slurmdbd.conf"
    assert conf.stat().st_mode & 0o777 == 0o600
    password = "ab" * 16
    assert slurmdbd.password(node.host, ETC) == password
    assert f"DbdHost={HEAD}\n" in conf.read_text()
    assert not [call for call in calls(tmp_path) if password in call]
    assert password not in " ".join(applied(DATABASE, node))


def test_a_password_is_never_made_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = local(tmp_path)
    applied(DATABASE, node)
    monkeypatch.setattr(local_database.os, "urandom", b"\xcd".__mul__)
    (tmp_path / "fake/active/mariadb").unlink()
    assert applied(DATABASE, node) == ["started mariadb"]
    assert slurmdbd.password(node.host, ETC) == "ab" * 16


def test_a_user_with_another_password_is_fixed(tmp_path: Path) -> None:
    node = local(tmp_path)
    applied(DATABASE, node)
    file(tmp_path, "/fake/password", "another")
    with pytest.raises(Failure, match=r"LFN62.*Access denied"):
        DATABASE.verify(node)
    assert applied(DATABASE, node) == ["made database and user of slurm_acct_db"]


def test_the_buffer_pool_has_the_size_that_slurmdbd_requires(tmp_path: Path) -> None:
    applied(DATABASE, local(tmp_path))
    text = (tmp_path / "etc/mysql/mariadb.conf.d/90-llm-fleet.cnf").read_text()
    assert "innodb_buffer_pool_size=1875M\n" in text
    assert "innodb_lock_wait_timeout=900\n" in text
    assert "bind-address=127.0.0.1\n" in text


def test_a_mariadb_with_older_settings_is_restarted(tmp_path: Path) -> None:
    node = local(tmp_path)
    starts(tmp_path, "mariadb")
    # It started long ago.
    file(tmp_path, "/proc/12/stat", f"12 (mariadbd) S {'0 ' * 18}1 0 0\n")
    assert "restarted mariadb" in applied(DATABASE, node)
    assert applied(DATABASE, node) == []


def test_missing_mariadb_is_reported(tmp_path: Path) -> None:
    node = local(tmp_path)
    (tmp_path / "usr/lib/systemd/system/mariadb.service").unlink()
    with pytest.raises(Failure, match=r"LFN62") as caught:
        DATABASE.apply(node)
    assert caught.value.final


def test_a_mariadb_that_does_not_start_is_reported(tmp_path: Path) -> None:
    node = local(tmp_path)
    fails(tmp_path, "mariadb")
    with pytest.raises(Failure, match=r"LFN62"):
        DATABASE.apply(node)
    with pytest.raises(Failure, match=r"LFN62"):
        DATABASE.verify(node)


def test_roles_of_the_steps(tmp_path: Path) -> None:
    node = local(tmp_path)
    assert (DATABASE.skip(node), STEP.skip(node)) == (None, None)
    outside = with_manifest(node, accounting=EXTERNAL)
    assert STEP.skip(outside) is None
    assert DATABASE.skip(outside) == "accounting uses an external database"
    nothing = with_manifest(node, accounting=None)
    assert DATABASE.skip(nothing) == STEP.skip(nothing) == "accounting is off in this fleet"


def test_slurm_conf_names_slurmdbd_only_after_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurmdbd, "_SECONDS", 0.1)
    node = local_with_database(tmp_path)
    fails(tmp_path, "sacctmgr")
    says(tmp_path, "slurmdbd", "slurmdbd: error: something\n")
    with pytest.raises(Failure, match=r"LFN64.*something"):
        STEP.apply(node)
    assert (tmp_path / "opt/slurm/etc/accounting.conf").read_text() == ""
    (tmp_path / "fake/fail/sacctmgr").unlink()
    applied(STEP, node)
    text = (tmp_path / "opt/slurm/etc/accounting.conf").read_text()
    assert f"AccountingStorageHost={HEAD}\n" in text
    assert "AccountingStorageType=accounting_storage/slurmdbd\n" in text


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("error: mysql_real_connect failed: 1045 Access denied for user", Code.DATABASE),
        ("error: mysql_real_connect failed: 2002 Can't connect to MySQL server on 'db.example'", Code.DATABASE),
        ("fatal: slurmdbd.conf file should be 600 is 644 accessible for group or others", Code.SLURMDBD),
    ],
)
def test_why_slurmdbd_does_not_answer(tmp_path: Path, words: str, code: Code) -> None:
    node = local_with_database(tmp_path)
    applied(STEP, node)
    fails(tmp_path, "sacctmgr")
    says(tmp_path, "slurmdbd", words)
    assert_fails(code, STEP.verify, node, match=re.escape(words))


def test_verify_detects_a_slurm_conf_without_slurmdbd(tmp_path: Path) -> None:
    node = local_with_database(tmp_path)
    applied(STEP, node)
    file(tmp_path, f"{ETC}/accounting.conf", "")
    with pytest.raises(Failure, match=r"LFN59"):
        STEP.verify(node)


def test_the_amis_accounting_is_only_verified(tmp_path: Path) -> None:
    from dataclasses import replace

    node = replace(local(tmp_path), hook=ON_INIT_COMPLETE)
    starts(tmp_path, "slurmdbd")
    assert applied(STEP, node) == []
    (tmp_path / "fake/active/slurmdbd").unlink()
    with pytest.raises(Failure, match=r"LFN64"):
        STEP.verify(node)


def test_an_external_database(tmp_path: Path) -> None:
    node = external(tmp_path)
    applied(STEP, node)
    text = (tmp_path / "opt/slurm/etc/slurmdbd.conf").read_text()
    for line in ("StorageHost=db.example", "StoragePort=3307", "StorageLoc=records", "StorageUser=slurm_user"):
        assert f"{line}\n" in text
    assert f'StoragePass="{SECRET}"\n' in text
    assert "StorageParameters=SSL_CAPATH=/etc/ssl/certs\n" in text
    assert slurmdbd.password(node.host, ETC) == SECRET
    assert not [call for call in calls(tmp_path) if SECRET in call]
    assert not (tmp_path / "etc/mysql/mariadb.conf.d/90-llm-fleet.cnf").exists()
    assert runs(tmp_path, "slurmdbd")
    assert applied(STEP, node) == []


def test_a_rotated_secret_restarts_slurmdbd(tmp_path: Path) -> None:
    import time

    node = external(tmp_path)
    applied(STEP, node)
    time.sleep(0.1)
    file(tmp_path, "/fake/secret", json.dumps({"username": "slurm_user", "password": "new"}))
    assert applied(STEP, node) == [f"wrote {ETC}/slurmdbd.conf", "restarted slurmdbd"]


def test_certificate_authorities_of_the_bundle_are_used(tmp_path: Path) -> None:
    from dataclasses import replace

    node = external(tmp_path)
    bundle = tmp_path / "bundle"
    file(tmp_path, "/bundle/accounting-ca.pem", "-----BEGIN CERTIFICATE-----\n")
    node = replace(node, places=replace(node.places, bundle=bundle))
    applied(STEP, node)
    assert "SSL_CA=/etc/llm-fleet/accounting-ca.pem\n" in (tmp_path / "opt/slurm/etc/slurmdbd.conf").read_text()
    assert (tmp_path / "etc/llm-fleet/accounting-ca.pem").read_text() == "-----BEGIN CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("secret", "reported"),
    [
        ('"only text"', "is not a JSON object"),
        ("not json", "is not a JSON object"),
        ('{"username": "a"}', "no password"),
        ('{"username": "", "password": 3}', "no username and no password"),
        ('{"username": "a", "password": "a#b"}', "allows no #, quote, backslash or line break in a password"),
        ('{"username": "a", "password": "a\\"b"}', "allows no #, quote, backslash or line break in a password"),
    ],
)
def test_an_invalid_secret(tmp_path: Path, secret: str, reported: str) -> None:
    node = external(tmp_path)
    file(tmp_path, "/fake/secret", secret)
    with pytest.raises(Failure, match=f"LFN63.*{reported}") as caught:
        STEP.apply(node)
    assert "a#b" not in str(caught.value)
    assert not (tmp_path / "opt/slurm/etc/slurmdbd.conf").exists()


def test_an_unreadable_secret(tmp_path: Path) -> None:
    node = external(tmp_path)
    fails(tmp_path, "aws", "An error occurred (AccessDeniedException)")
    with pytest.raises(Failure, match=r"LFN63(.|\n)*AccessDenied"):
        STEP.apply(node)


def test_an_external_database_without_an_address(tmp_path: Path) -> None:
    node = external(tmp_path, Accounting("external", None, None, None, None))
    with pytest.raises(Failure, match=r"LFN62"):
        STEP.apply(node)


def test_storage_does_not_show_its_password() -> None:
    assert SECRET not in repr(slurmdbd.Storage("h", 1, "d", "u", SECRET))
