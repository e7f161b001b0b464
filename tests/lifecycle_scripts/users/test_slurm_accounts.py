"""Slurm accounts: read, and made if missing, only for this cluster."""

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Accounting
from llm_fleet_node.node import Node
from llm_fleet_node.steps.slurm_accounts import STEP
from tests.lifecycle_scripts.convergence import again, assert_fails, converges
from tests.lifecycle_scripts.step_node import ALICE, BOB, file, make, program, said

# Stores associations in /records, one `cluster|account|user` in each line, like slurmdbd.
SACCTMGR = """
records = read('/records').splitlines()
open(root + '/calls', 'a').write(' '.join(a) + '\\n')
if a[:4] == ['--noheader', '--parsable2', 'show', 'associations'] and a[5:] == ['format=Account,User']:
    cluster = a[4].split('cluster=')[1]
    print(''.join(l.split('|', 1)[1] + '\\n' for l in records if l.startswith(cluster + '|')), end='')
elif a[:2] == ['--immediate', 'add'] and a[2] in ('account', 'user') and a[3].startswith('name='):
    given = dict(word.split('=', 1) for word in a[3:])
    if set(given) != ({'name', 'cluster'} | ({'account'} if a[2] == 'user' else set())): bad()
    user = given['name'] if a[2] == 'user' else ''
    account = given.get('account', given['name'])
    if user and f"{given['cluster']}|{account}|" not in records: sys.exit(' This account does not exist')
    line = f"{given['cluster']}|{account}|{user}"
    if line in records: sys.exit(' Nothing new added.')
    write('/records', ''.join(l + '\\n' for l in [*records, line]))
else:
    bad()
"""
SCONTROL = """
if a != ['show', 'config']: bad()
print('Configuration data as of 2026-11-20T11:00:00')
print(f"AccountingStorageType   = {read('/storage').strip()}")
print('ClusterName             = train')
"""
CARL = replace(BOB, name="carl", uid=2003, gid=2003, slurm_account="research")
LOCAL = Accounting("local", None, None, None, None)


def fresh(root: Path) -> Node:
    file(root, "/storage", "accounting_storage/slurmdbd")
    file(root, "/records", "train|root|\ntrain|root|root\nother|research|\nother|research|alice\n")
    program(root, "sacctmgr", SACCTMGR)
    program(root, "scontrol", SCONTROL)
    return make(root, users=[ALICE, BOB, CARL], role="Controller", accounting=LOCAL)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return fresh(tmp_path)


def test_accounts_are_made_only_in_this_cluster(node: Node) -> None:
    STEP.apply(node)
    STEP.verify(node)
    records = (node.host.read("/records") or "").splitlines()
    assert records[-3:] == ["train|research|", "train|research|alice", "train|research|carl"]
    assert "other|research|carl" not in records
    assert not any("bob" in record for record in records)


def test_a_second_run_only_reads(node: Node) -> None:
    STEP.apply(node)
    file(node.host.root, "/calls", "")
    twice = again(node)
    STEP.apply(twice)
    assert twice.host.changes == []
    assert (node.host.read("/calls") or "").count("\n") == 1


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path) -> None:
    assert converges(STEP, fresh, tmp_path, ignore=["/calls"]) == 3


def test_verify_reports_what_is_missing(node: Node) -> None:
    assert_fails(Code.SLURM_ACCOUNTS, STEP.verify, node, match="research, alice in research, carl in research")


def test_an_account_that_exists_meanwhile_is_not_a_failure(node: Node) -> None:
    late = SACCTMGR.replace("if line in records:", "if True:")
    program(node.host.root, "sacctmgr", late)
    file(node.host.root, "/records", "train|research|\ntrain|research|carl\n")
    STEP.apply(node)
    with pytest.raises(Failure, match="alice in research"):
        STEP.verify(node)


def test_an_error_of_sacctmgr_is_a_failure(node: Node) -> None:
    program(
        node.host.root,
        "sacctmgr",
        SACCTMGR.replace("Nothing new added", "Access denied").replace("if line in", "if line or"),
    )
    with pytest.raises(CommandFailed, match="Access denied"):
        STEP.apply(node)


def test_without_accounting_there_is_nothing_to_do(node: Node) -> None:
    file(node.host.root, "/storage", "(null)")
    alone = make(node.host.root, users=[ALICE], role="Controller")
    STEP.apply(alone)
    STEP.verify(alone)
    assert "keeps no records" in said(alone)
    assert not (node.host.root / "calls").exists()


def test_accounting_missing_in_slurm_is_reported(node: Node) -> None:
    file(node.host.root, "/storage", "(null)")
    assert_fails(Code.SLURM_ACCOUNTS, STEP.apply, node, match="keeps no records")


def test_it_is_skipped_without_accounts(tmp_path: Path) -> None:
    assert STEP.skip(make(tmp_path, users=[BOB])) == "no user of the fleet has a Slurm account"
    assert STEP.skip(make(tmp_path, users=[ALICE])) is None
