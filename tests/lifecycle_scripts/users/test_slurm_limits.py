"""Limits of Slurm accounts: set if they differ, verified, removed, and nothing else changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Accounting
from llm_fleet_node.marked_block import with_block
from llm_fleet_node.node import Node
from llm_fleet_node.people_parts import SlurmAccount, SlurmAccounts
from llm_fleet_node.steps.slurm_accounts import STEP
from llm_fleet_node.users import slurm_enforcement
from llm_fleet_node.users.limit_values import as_minutes, as_resources, differ, written_memory
from llm_fleet_node.users.slurm_accounts import was_there
from llm_fleet_node.users.slurm_enforcement import BLOCK, enforcing_lines
from llm_fleet_node.users.slurm_limits import ORGANIZATION
from tests.lifecycle_scripts.convergence import applied, assert_fails
from tests.lifecycle_scripts.step_node import ALICE, file, make, program

_NO_COUNTS = tuple(
    (name, None) for name in ("Fairshare", "GrpJobs", "GrpSubmitJobs", "MaxJobs", "MaxSubmitJobs", "MaxWall")
)
TOP = SlurmAccount("lab", "root", _NO_COUNTS, (("GrpTRES", (("node", 16),)), ("MaxTRES", ())))
RESEARCH = SlurmAccount(
    "research",
    "lab",
    (
        ("Fairshare", 10),
        ("GrpJobs", None),
        ("GrpSubmitJobs", None),
        ("MaxJobs", 8),
        ("MaxSubmitJobs", 0),
        ("MaxWall", 2880),
    ),
    (("GrpTRES", (("gres/gpu", 64), ("mem", 2048000), ("node", 8))), ("MaxTRES", (("node", 4),))),
)
ACCOUNTS = SlurmAccounts("llm-fleet", ("associations", "limits"), ("gres/gpu",), (TOP, RESEARCH))

# Recorded from sacctmgr of Slurm 24.11.5: stores one association in each line of /records, as JSON; writes durations as
# D-HH:MM:SS and memory with a unit; `-1` removes a limit; accepts a gres only after slurmctld counts it; an account's
# organization is its parent's name or its own, unless given. Most calls only read: these lines are also valid Python,
# which can be read without importing a parser.
SACCTMGR = r"""
OPTIONS = ['Fairshare', 'GrpJobs', 'GrpSubmitJobs', 'MaxJobs', 'MaxSubmitJobs', 'MaxWall', 'GrpTRES', 'MaxTRES']
records = [eval(line) for line in read('/records').splitlines()]
open(root + '/calls', 'a').write(' '.join(a) + '\n')
def save():
    import json
    write('/records', ''.join(json.dumps(r) + '\n' for r in records))
def shown(option, value):
    if option == 'MaxWall' and value:
        m = int(value)
        return (f'{m // 1440}-' if m >= 1440 else '') + f'{m % 1440 // 60:02}:{m % 60:02}:00'
    if option.endswith('TRES'):
        units = {k: f'{v // 1024}G' if k == 'mem' and v % 1024 == 0 else v for k, v in (value or {}).items()}
        return ','.join(f'{k}={v}' for k, v in units.items())
    return value or ('1' if option == 'Fairshare' else '')
def one(words): return dict(word.split('=', 1) for word in words)
if a[:4] == ['--noheader', '--parsable2', 'show', 'associations']:
    names = a[5].split('=')[1].split(',')
    for r in records:
        if r['cluster'] == a[4].split('=')[1]:
            row = {'Account': r['account'], 'User': r['user'], 'ParentName': r['parent'] if not r['user'] else ''}
            row.update({o: shown(o, r['limits'].get(o)) for o in OPTIONS})
            print('|'.join(row[n] for n in names))
elif a[:4] == ['--noheader', '--parsable2', 'show', 'account']:
    for name in dict.fromkeys(r['account'] for r in records):
        print(f"{name}|{next(r['org'] for r in records if r['account'] == name)}")
elif a[:3] == ['--immediate', 'add', 'account'] or a[:3] == ['--immediate', 'add', 'user']:
    given = one(a[3:])
    user = given['name'] if a[2] == 'user' else ''
    account = given['account'] if user else given['name']
    parent = given.get('parent', 'root')
    if not any(r['account'] == parent and r['cluster'] == given['cluster'] for r in records): sys.exit(' no parent')
    if any((r['account'], r['user'], r['cluster']) == (account, user, given['cluster']) for r in records):
        sys.exit("Request didn't affect anything\nNothing added." if user else f' Already existing account {account}')
    records.append({'cluster': given['cluster'], 'account': account, 'user': user, 'parent': parent,
                    'org': given.get('organization', given.get('parent', account)), 'limits': {}})
    save()
elif a[:4] == ['--immediate', 'modify', 'account', 'where'] and 'set' in a:
    where, words = one(a[4:a.index('set')]), one(a[a.index('set') + 1:])
    for r in records:
        if r['account'] != where['name'] or r['user'] or r['cluster'] != where.get('cluster', r['cluster']): continue
        r['org'], r['parent'] = words.get('organization', r['org']), words.get('Parent', r['parent'])
        for option in OPTIONS:
            if option not in words: continue
            if option.endswith('TRES'):
                if 'gres/gpu' in words[option] and 'gres/gpu' not in read('/running'):
                    sys.exit(f' Unknown option: {option}={words[option]}')
                limits = r['limits'].get(option) or {}
                limits.update({k: int(v) for k, v in (part.rsplit('=', 1) for part in words[option].split(','))})
                r['limits'][option] = {k: v for k, v in limits.items() if v != -1}
            else:
                r['limits'][option] = '' if words[option] == '-1' else words[option]
    save()
else:
    bad()
"""
SCONTROL = """
if a == ['reconfigure']: write('/running', read('/opt/slurm/etc/slurm.conf')); sys.exit()
if a != ['show', 'config']: bad()
print('AccountingStorageType   = accounting_storage/slurmdbd')
print('ClusterName             = train')
for line in read('/running').splitlines():
    if line.startswith('AccountingStorageEnforce=') or line.startswith('AccountingStorageTRES='):
        key, value = line.split('=', 1)
        print(f"{key:23} = {'cpu,mem,energy,node,' if key.endswith('TRES') else ''}{value}")
"""
_RECORD = '{{"cluster": "{0}", "account": "{1}", "user": "{2}", "parent": "{3}", "org": "{4}", "limits": {5}}}\n'


def record(account: str, user: str = "", *, limits: str = "{}", org: str = "", cluster: str = "train") -> str:
    parent = "" if account == "root" else "root"
    return _RECORD.format(cluster, account, user, parent, org or account, limits)


def fresh(root: Path, *, hook: str = "OnInitComplete", more: str = "", enforced: str = "") -> Node:
    file(root, "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/bash\n")
    file(root, "/records", record("root") + record("root", "root") + more)
    file(root, "/opt/slurm/etc/slurm.conf", f"ClusterName=train\n{enforced}")
    file(root, "/running", f"ClusterName=train\n{enforced}")
    program(root, "sacctmgr", SACCTMGR)
    program(root, "scontrol", SCONTROL)
    file(root, "/opt/slurm/bin/scontrol", (root / "usr/bin/scontrol").read_text(), 0o755)
    node = make(
        root,
        users=[ALICE],
        role="Controller",
        accounting=Accounting("local", None, None, None, None),
        slurm_accounts=ACCOUNTS,
    )
    return replace(node, hook=hook)


def records(node: Node) -> str:
    return node.host.read("/records") or ""


def calls(node: Node) -> list[str]:
    return [line for line in (node.host.read("/calls") or "").splitlines() if "--immediate" in line]


def test_accounts_limits_and_their_enforcement_are_set(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    STEP.apply(node)
    STEP.verify(node)
    said = "\n".join(calls(node))
    assert "add account name=lab cluster=train parent=root organization=made by llm-fleet" in said
    assert "add account name=research cluster=train parent=lab" in said
    assert (
        "modify account where name=research cluster=train set Fairshare=10 MaxJobs=8 MaxSubmitJobs=0 MaxWall=2880 "
        "GrpTRES=gres/gpu=64,mem=2048000,node=8 MaxTRES=node=4"
    ) in said
    # Otherwise the image's own user could not submit jobs.
    assert "add user name=ubuntu account=llm-fleet cluster=train" in said
    conf = node.host.read("/opt/slurm/etc/slurm.conf") or ""
    assert "AccountingStorageEnforce=associations,limits\nAccountingStorageTRES=gres/gpu\n" in conf


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    STEP.apply(node)
    file(tmp_path, "/calls", "")
    assert applied(STEP, node) == []
    assert calls(node) == []


def test_it_continues_after_a_kill_before_limits_or_the_reload(tmp_path: Path) -> None:
    node = fresh(tmp_path, more=record("lab", org=ORGANIZATION))
    file(tmp_path, "/opt/slurm/etc/slurm.conf", with_block("ClusterName=train\n", BLOCK, enforcing_lines(ACCOUNTS)))
    STEP.apply(node)
    STEP.verify(node)


def test_limits_removed_from_the_fleet_are_removed_and_manual_entries_stay(tmp_path: Path) -> None:
    more = (
        record(
            "research", limits='{"GrpJobs": "3", "GrpTRES": {"node": 99, "cpu": 8}, "MaxWall": "60"}', org=ORGANIZATION
        )
        + record("left", limits='{"MaxJobs": "2", "GrpTRES": {"node": 2}}', org=ORGANIZATION)
        + record("by-hand", limits='{"MaxJobs": "2"}')
        + record("research", cluster="other", limits='{"GrpJobs": "3"}', org=ORGANIZATION)
    )
    node = fresh(tmp_path, more=more)
    STEP.apply(node)
    STEP.verify(node)
    said = "\n".join(calls(node))
    assert "name=left cluster=train set MaxJobs=-1 GrpTRES=node=-1" in said
    assert "GrpJobs=-1" in said
    assert "GrpTRES=cpu=-1,gres/gpu=64,mem=2048000,node=8" in said
    assert "by-hand" not in said
    assert "cluster=other" not in said
    assert (
        '"account": "by-hand", "user": "", "parent": "root", "org": "by-hand", "limits": {"MaxJobs": "2"}'
        in records(node)
    )
    assert "delete" not in said


def test_verify_reads_the_limits_and_reports_differences(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    STEP.apply(node)
    file(tmp_path, "/records", records(node).replace('"MaxJobs": "8"', '"MaxJobs": "80"'))
    assert_fails(Code.SLURM_LIMITS, STEP.verify, node, match="research lacks MaxJobs=8")


def test_unenforced_limits_are_reported(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    STEP.apply(node)
    file(tmp_path, "/running", "AccountingStorageEnforce=associations\nAccountingStorageTRES=gres/gpu\n")
    assert_fails(Code.LIMITS_NOT_ENFORCED, STEP.verify, node, match="AccountingStorageEnforce without limits")


def test_slurmctld_is_restarted_if_a_reconfigure_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_enforcement, "_SECONDS", 0.1)
    node = fresh(tmp_path)
    deaf = SCONTROL.replace("write('/running', read('/opt/slurm/etc/slurm.conf')); ", "")
    program(tmp_path, "scontrol", deaf)
    restart = "if a == ['restart', 'slurmctld.service']: write('/running', read('/opt/slurm/etc/slurm.conf'))"
    program(tmp_path, "systemctl", restart)
    file(tmp_path, "/opt/slurm/bin/scontrol", (tmp_path / "usr/bin/scontrol").read_text(), 0o755)
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.changes[-1] == "restarted slurmctld"


@pytest.mark.parametrize("hook", ["OnCreate", "OnNodeConfigured"])
def test_a_slurm_conf_of_parallelcluster_is_only_verified(tmp_path: Path, hook: str) -> None:
    node = fresh(tmp_path, hook=hook)
    assert_fails(Code.LIMITS_NOT_ENFORCED, STEP.apply, node, match="without gres/gpu")
    assert node.host.read("/opt/slurm/etc/slurm.conf") == "ClusterName=train\n"
    counted = fresh(tmp_path, hook=hook, enforced="AccountingStorageTRES=gres/gpu\n")
    STEP.apply(counted)
    assert_fails(Code.LIMITS_NOT_ENFORCED, STEP.verify, counted, match="AccountingStorageEnforce")


def test_without_accounts_the_block_is_removed(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    STEP.apply(node)
    bare = replace(make(tmp_path, role="Controller"), hook="OnInitComplete")
    assert STEP.skip(bare) is None
    STEP.apply(bare)
    assert bare.host.read("/opt/slurm/etc/slurm.conf") == "ClusterName=train\n"
    assert STEP.skip(bare) == "no user of the fleet has a Slurm account"


def test_llm_fleets_slurm_conf_has_the_lines_only_with_limits() -> None:
    assert enforcing_lines(None) == ""
    assert enforcing_lines(replace(ACCOUNTS, counted=())) == "AccountingStorageEnforce=associations,limits\n"


def test_parsing_values_of_sacctmgr() -> None:
    assert [as_minutes(text) for text in ("2-00:00:00", "01:30:00", "", "UNLIMITED")] == [2880, 90, None, None]
    found = as_resources("node=16,mem=2000G,gres/gpu:a100=8,license/x=2")
    assert found == {"node": "16", "mem": "2000G", "gres/gpu:a100": "8", "license/x": "2"}
    assert as_resources("") == {}
    assert not differ("mem", found["mem"], 2048000)
    assert differ("mem", found["mem"], 2048001)
    assert differ("node", found["node"], 15)
    assert differ("cpu", "2000", 2010)
    assert not differ("node", None, None)
    assert differ("node", None, 0)
    assert differ("node", "0", None)


@pytest.mark.parametrize(
    ("mebibytes", "text"),
    [
        (1024, "1G"), (1536, "1.50G"), (1541, "1541M"), (1100, "1100M"), (2097152, "2T"), (2621440, "2.50T"),
        (3000000000, "2929687.50G"), (5000000, "5000000M"), (524800, "512.50G"), (1049088, "1.00T"),
    ],
)  # fmt: skip
def test_parsing_memory_of_sacctmgr_24_11(mebibytes: int, text: str) -> None:
    assert written_memory(mebibytes) == text
    assert not differ("mem", text, mebibytes)


def test_resources_are_counted_before_limits_are_set_and_enforced(
    tmp_path: Path,
) -> None:
    node = fresh(tmp_path)
    slurm_enforcement.count_in_platforms(node.host, "/opt/slurm/etc", ACCOUNTS)
    assert node.host.read("/running") == with_block("ClusterName=train\n", BLOCK, "AccountingStorageTRES=gres/gpu\n")
    STEP.apply(node)
    STEP.verify(node)


def test_accounts_with_their_parents_organization_are_not_the_fleets(tmp_path: Path) -> None:
    """Without an organization Slurm uses the parent's name or the account's own."""
    by_hand = record("llm-fleet", limits='{"MaxJobs": "2"}') + record(
        "below", limits='{"MaxJobs": "2"}', org="llm-fleet"
    )
    node = fresh(tmp_path, more=by_hand)
    STEP.apply(node)
    STEP.verify(node)
    assert not any("MaxJobs=-1" in call for call in calls(node))


@pytest.mark.parametrize("said", [" Nothing new added.", "Nothing added.", " Already existing account lab"])
def test_an_entry_that_exists_meanwhile_is_not_a_failure(said: str) -> None:
    assert was_there(CommandFailed(["sacctmgr"], 1, said))
