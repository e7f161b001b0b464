"""What the step mount_lustre sets on large nodes."""

import dataclasses
from pathlib import Path

from llm_fleet_node.mounts.lustre_tuning import wanted
from llm_fleet_node.node import Node
from llm_fleet_node.steps.mount_lustre import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import build, lustre
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import M5, TRN1, file, program, said

LCTL = """
import pathlib
known = {'ldlm.namespaces.*.lru_max_age': '3900000', 'ldlm.namespaces.*.lru_size': '0',
         'osc.*OST*.max_rpcs_in_flight': '8', 'mdc.*.max_rpcs_in_flight': '8', 'mdc.*.max_mod_rpcs_in_flight': '7',
         'osc.*.max_dirty_mb': '2000'}
place = pathlib.Path(root, 'lctl')
place.mkdir(exist_ok=True)
if a[:2] == ['get_param', '-n'] and len(a) == 3:
    kept = place / a[2]
    print('\\n'.join([kept.read_text() if kept.exists() else known[a[2]]] * 3))
elif a[0] == 'set_param' and len(a) == 2:
    name, value = a[1].split('=')
    assert name in known
    (place / name).write_text(value)
else:
    sys.exit(f'lctl: refused {a}')
"""


_REFUSES = """
if a == ['set_param', 'mdc.*.max_mod_rpcs_in_flight=50']:
    sys.exit('error: set_param: setting /sys/fs/lustre/mdc/x/max_mod_rpcs_in_flight=50: Numerical result out of range')
if a[-1] == 'ldlm.namespaces.*.lru_max_age':
    sys.exit('error: get_param: param_path ldlm/namespaces/*/lru_max_age: No such file or directory')
"""


def large(root: Path) -> Node:
    node = build(root, mounts=(lustre(),))
    program(root, "mount.lustre", "sys.exit('only mount(8) runs this')")
    node = dataclasses.replace(
        node, identity=dataclasses.replace(node.identity, group=dataclasses.replace(node.group, instance_types=(TRN1,)))
    )
    file(root, "/proc/cpuinfo", "processor\t: 0\nmodel name\t: x\n\n" * 128)
    file(root, "/proc/meminfo", "MemTotal:       528280576 kB\nMemFree: 1 kB\n")
    program(root, "lctl", LCTL)
    return node


def test_a_large_node_gets_what_fsx_recommends(tmp_path: Path) -> None:
    node = large(tmp_path)
    changes = applied(STEP, node)
    assert [change for change in changes if change.startswith("set ")] == [
        "set ldlm.namespaces.*.lru_max_age to 600000",
        "set ldlm.namespaces.*.lru_size to 12800",
        "set osc.*OST*.max_rpcs_in_flight to 32",
        "set mdc.*.max_rpcs_in_flight to 64",
        "set mdc.*.max_mod_rpcs_in_flight to 50",
        "set osc.*.max_dirty_mb to 64",
    ]
    assert "ptlrpcd_per_cpt_max=32" in (tmp_path / "etc/modprobe.d/llm-fleet-lustre.conf").read_text()
    assert applied(STEP, node) == []


def test_what_the_client_refuses_is_a_remark_and_costs_no_node(tmp_path: Path) -> None:
    """A server that grants fewer modifying requests has its client refuse more; an older client knows fewer names.

    Source: assumption lustre-client-takes-fsx-tuning.
    """
    node = large(tmp_path)
    program(tmp_path, "lctl", _REFUSES + LCTL)
    changes = applied(STEP, node)
    assert [change for change in changes if change.startswith("set ")] == [
        "set ldlm.namespaces.*.lru_size to 12800",
        "set osc.*OST*.max_rpcs_in_flight to 32",
        "set mdc.*.max_rpcs_in_flight to 64",
        "set osc.*.max_dirty_mb to 64",
    ]
    assert "stays without mdc.*.max_mod_rpcs_in_flight=50" in said(node)
    assert "Numerical result out of range" in said(node)
    assert "stays without ldlm.namespaces.*.lru_max_age=600000" in said(node)


def test_a_large_node_killed_anywhere_converges(tmp_path: Path) -> None:
    assert converges(STEP, large, tmp_path) == 10


def test_a_small_node_is_left_as_it_is(tmp_path: Path) -> None:
    node = build(tmp_path, M5)
    file(tmp_path, "/proc/cpuinfo", "processor\t: 0\n" * 4)
    file(tmp_path, "/proc/meminfo", "MemTotal:       16000000 kB\n")
    assert wanted(node) == {}
