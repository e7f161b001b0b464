"""Pyxis is loaded once, with any previous configuration, and srun has its options."""

from pathlib import Path

import pytest

from llm_fleet_node.containers.plugstack import times_loaded
from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.node import Node
from llm_fleet_node.steps.pyxis import STEP
from tests.lifecycle_scripts.convergence import again, applied, assert_fails, converges
from tests.lifecycle_scripts.step_node import file, make, program
from tests.pains.reported import reported

ETC = "/opt/slurm/etc"
PLUGSTACK = f"{ETC}/plugstack.conf"
PLUGIN = "/usr/local/lib/slurm/spank_pyxis.so"
LINE = f"required {PLUGIN}\n"
GLOB = f"include {ETC}/plugstack.conf.d/*\n"
NAMED = f"include {ETC}/plugstack.conf.d/pyxis.conf\n"
# Like Slurm 24.11: follows includes, loads their plugins, reports an option that is registered twice and continues,
# and does not start with a plugin that was built for another version.
SRUN = """
import glob, re
if a != ['--help']: bad()
def load(path):
    found = 0
    for line in (open(path).read() if os.path.exists(path) else '').splitlines():
        words = line.split('#')[0].split()
        if words[:1] == ['include']:
            found += sum(load(each) for each in glob.glob(root + words[1]))
        elif words and words[1].endswith('spank_pyxis.so'):
            found += 1
    return found
times = load(root + (read('/plugstack').strip() or '/opt/slurm/etc/plugstack.conf'))
if times and read('/usr/local/lib/slurm/spank_pyxis.so') != 'ELF': sys.exit('error: Incompatible Slurm plugin version')
if times > 1: print('srun: spank: option "container-image" provided by both', file=sys.stderr)
print('Usage: srun [OPTIONS...] executable\\n' + ('      --container-image=[USER@][REGISTRY#]IMAGE' if times else ''))
"""
SYSTEMCTL = """
if a != ['is-active', '--quiet', 'slurmctld.service']: bad()
sys.exit(0 if os.path.exists(root + '/slurmctld-runs') else 3)
"""
SCONTROL = """
if a != ['reconfigure']: bad()
if os.path.exists(root + '/die'): os.unlink(root + '/die'); sys.exit('slurm_reconfigure error: Socket timed out')
open(root + '/calls', 'a').write('reconfigure\\n')
"""


def fresh(root: Path, plugstack: str | None = "", *, role: str = "Controller", plugin: bool = True) -> Node:
    file(root, f"{ETC}/slurm.conf", "ClusterName=train\n")
    if plugin:
        file(root, PLUGIN, "ELF")
    if plugstack is not None:
        file(root, PLUGSTACK, plugstack)
    program(root, "srun", SRUN)
    program(root, "systemctl", SYSTEMCTL)
    program(root, "scontrol", SCONTROL)
    file(root, "/opt/slurm/sbin/slurmctld", "")
    return make(root, role=role)


@pytest.mark.parametrize("plugstack", [None, "", "required other.so", "# nothing\n"])
def test_a_missing_line_is_added(tmp_path: Path, plugstack: str | None) -> None:
    node = fresh(tmp_path, plugstack)
    STEP.apply(node)
    STEP.verify(node)
    text = node.host.read(PLUGSTACK) or ""
    assert text.endswith(f"\n{LINE}" if plugstack else LINE)
    assert text.startswith(plugstack or "")


@pytest.mark.parametrize("plugstack", [LINE, GLOB, NAMED])
def test_a_single_line_is_not_changed(tmp_path: Path, plugstack: str) -> None:
    node = fresh(tmp_path, plugstack)
    file(tmp_path, f"{ETC}/plugstack.conf.d/pyxis.conf", LINE if "include" in plugstack else "")
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.changes == []


@pytest.mark.parametrize(
    ("plugstack", "left"),
    [
        (GLOB + NAMED, GLOB),
        (NAMED + GLOB, GLOB),
        (NAMED + NAMED, NAMED),
        (GLOB + GLOB, GLOB),
        (LINE + LINE, LINE),
        (GLOB + LINE, GLOB),
        (LINE + GLOB, LINE + GLOB),
        (GLOB + NAMED + LINE, GLOB),
    ],
)
def test_of_several_lines_one_is_kept(tmp_path: Path, plugstack: str, left: str) -> None:
    node = fresh(tmp_path, plugstack)
    file(tmp_path, f"{ETC}/plugstack.conf.d/pyxis.conf", LINE)
    file(tmp_path, f"{ETC}/plugstack.conf.d/other.conf", "optional other.so\n")
    failure = assert_fails(Code.PYXIS, STEP.verify, node, match=r"loads pyxis [23] times")
    reported(8, failure, "loads pyxis")
    STEP.apply(node)
    STEP.verify(node)
    lines = [line for line in (node.host.read(PLUGSTACK) or "").splitlines() if not line.startswith("#")]
    assert lines == left.splitlines()
    assert node.host.read(f"{ETC}/plugstack.conf.d/other.conf") == "optional other.so\n"


@pytest.mark.parametrize("plugstack", [LINE, GLOB, NAMED, GLOB + NAMED, NAMED + GLOB, GLOB + LINE, "", LINE + LINE])
def test_with_configless_pyxis_is_in_the_file_itself(tmp_path: Path, plugstack: str) -> None:
    """A node whose own folder is empty gets the controller's plugstack.conf and nothing that it includes.

    Source: document SchedMD slurm 284c3b9 src/common/parse_config.c ("Slurm does not support glob parsing"), and
    awsome-distributed-ai 95b939c utils/slurm_fix_plugstackconf.sh (2026-07): includes must be next to their parent.
    """
    node = fresh(tmp_path, plugstack)
    line = f"required {PLUGIN} runtime_path=/run/pyxis\n" if "include" in plugstack and LINE not in plugstack else LINE
    file(tmp_path, f"{ETC}/slurm.conf", "ClusterName=train\nSlurmctldParameters=enable_configless\n")
    file(tmp_path, f"{ETC}/plugstack.conf.d/pyxis.conf", line)
    file(tmp_path, f"{ETC}/plugstack.conf.d/other.conf", "optional other.so\n")
    if plugstack == GLOB:
        with pytest.raises(Failure, match=r"loads pyxis 1 times .*, which Slurm does not send to other nodes"):
            STEP.verify(node)
    STEP.apply(node)
    STEP.verify(node)
    sent = [text for text in (node.host.read(PLUGSTACK) or "").splitlines(keepends=True) if text[0] not in "#i"]
    assert sent == [line], "with its previous options"
    assert node.host.read(f"{ETC}/plugstack.conf.d/other.conf") == "optional other.so\n"
    assert applied(STEP, node) == []


def test_it_converges_after_a_kill_at_any_effect(tmp_path: Path) -> None:
    def one(root: Path, conf: str = "", plugstack: str = GLOB + NAMED + LINE) -> Node:
        file(root, f"{ETC}/plugstack.conf.d/pyxis.conf", LINE + LINE)
        file(root, "/slurmctld-runs", "")
        node = fresh(root, plugstack)
        if conf:
            file(root, f"{ETC}/slurm.conf", f"SlurmctldParameters={conf}\n")
        return node

    assert converges(STEP, one, tmp_path / "whole", ignore=["/calls"]) >= 4
    sent = tmp_path / "sent"
    assert converges(STEP, lambda root: one(root, "enable_configless", GLOB + NAMED), sent, ignore=["/calls"]) >= 4


def test_a_running_slurmctld_is_reconfigured_once(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    file(tmp_path, "/slurmctld-runs", "")
    STEP.apply(node)
    STEP.apply(node)
    assert node.host.read("/calls") == "reconfigure\n"


def test_a_failed_reconfigure_is_repeated_at_the_next_run(tmp_path: Path) -> None:
    node = fresh(tmp_path)
    file(tmp_path, "/slurmctld-runs", "")
    file(tmp_path, "/die", "")
    with pytest.raises(Failure, match="timed out"):
        STEP.apply(node)
    STEP.apply(again(node))
    assert node.host.read("/calls") == "reconfigure\n"


def test_the_configured_path_of_plugstack_conf_is_used(tmp_path: Path) -> None:
    node = fresh(tmp_path, None)
    file(tmp_path, f"{ETC}/slurm.conf", "PlugStackConfig=/etc/plugstack.conf\n")
    file(tmp_path, "/plugstack", "/etc/plugstack.conf")
    STEP.apply(node)
    STEP.verify(node)
    assert node.host.read("/etc/plugstack.conf") == LINE


@pytest.mark.parametrize("role", ["Compute", "Login"])
def test_other_nodes_never_change_the_controllers_files(tmp_path: Path, role: str) -> None:
    node = fresh(tmp_path, LINE + LINE, role=role)
    STEP.apply(node)
    assert node.host.changes == []
    STEP.verify(node)
    file(tmp_path, PLUGSTACK, "")
    with pytest.raises(Failure, match="srun has no option --container-image"):
        STEP.verify(node)


def test_verify_detects_a_plugin_for_another_slurm_version(tmp_path: Path) -> None:
    node = fresh(tmp_path, LINE)
    file(tmp_path, PLUGIN, "of another version")
    assert_fails(Code.PYXIS, STEP.verify, node, match="srun does not start: error: Incompatible Slurm plugin version")


def test_verify_checks_srun_and_not_only_files(tmp_path: Path) -> None:
    node = fresh(tmp_path, LINE)
    program(tmp_path, "srun", "print('Usage: srun')")
    assert_fails(Code.PYXIS, STEP.verify, node, match="srun has no option --container-image")


def test_files_that_include_themselves_do_not_loop(tmp_path: Path) -> None:
    node = fresh(tmp_path, f"include {PLUGSTACK}\n{LINE}")
    assert len(times_loaded(node.host, PLUGSTACK)) > 1


def test_it_is_skipped_without_pyxis(tmp_path: Path) -> None:
    assert STEP.skip(fresh(tmp_path / "a", plugin=False)) == "the node has no pyxis"
    assert STEP.skip(fresh(tmp_path / "b")) is None
