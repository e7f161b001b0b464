"""slurm.conf has the settings of the cluster. Lines of the platform's agent are not changed."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.marked_block import put_block, with_block
from llm_fleet_node.names import own_name
from llm_fleet_node.node import Node
from llm_fleet_node.own_address import own_address
from llm_fleet_node.slurm import conf_file, topology_files
from llm_fleet_node.slurm.bare_conf import slurm_conf
from llm_fleet_node.slurm.conf_file import ConfFile
from llm_fleet_node.slurm.installation import Installation, found, version
from llm_fleet_node.slurm.settings import CONFIGLESS, added_settings, keeps_auto_resume
from llm_fleet_node.step import CONTROLLER, EVERY_ROLE, ON_CREATE, ON_INIT_COMPLETE, Step
from llm_fleet_node.waiting import wait_for

_SECONDS = 120.0
"""Timeout for the agent to write slurm.conf, which it does before it starts the scripts."""
_AGENTS = ("ClusterName", "SlurmctldHost")
"""Keys of a complete slurm.conf."""
_ACCOUNTING = "accounting.conf"
"""Included by the agent's slurm.conf, and empty there (base-config of awslabs/awsome-distributed-ai)."""
_WHY = "Written by llm-fleet. The lines of the platform's agent are in slurm.conf."


def _apply(node: Node) -> None:
    slurm = found(node.host)
    if node.hook == ON_CREATE:
        _apply_as_owner(node, slurm)
    elif node.role == CONTROLLER:
        # The AMI has configured Slurm, and UpdateCluster can reject an edited slurm.conf (strategy Managed).
        conf = _written(node, slurm)
        if topology_files.problem(node.host, slurm.etc, conf):
            topology_files.put(node, slurm.etc, conf)


def _apply_as_owner(node: Node, slurm: Installation) -> None:
    host = node.host
    path = f"{slurm.etc}/{conf_file.NAME}"
    if node.role != CONTROLLER:
        # The controller sends it. A local file would take precedence.
        host.remove(path)
        return
    if not slurm.by_platform:
        name = own_name(host)
        _put_bare(node, slurm, slurm_conf(node.manifest, host_name=name, address=own_address(node, name) or name))
    conf = _written(node, slurm, ours=False)
    settings = {**added_settings(conf, node.manifest, version(host)), **topology_files.put(node, slurm.etc, conf)}
    # Included files first: slurm.conf never names a missing file.
    host.write(f"{slurm.etc}/{conf_file.OURS}", conf_file.rendered(settings, why=_WHY))
    more = [_ACCOUNTING] if node.manifest.accounting and not conf.does_include(_ACCOUNTING) else []
    put_block(host, path, conf_file.BLOCK, "\n".join(f"Include {name}" for name in (conf_file.OURS, *more)))


def _put_bare(node: Node, slurm: Installation, text: str) -> None:
    if node.host.read(f"{slurm.etc}/{_ACCOUNTING}") is None:
        node.host.write(f"{slurm.etc}/{_ACCOUNTING}", "# No accounting.\n")
    node.host.write(f"{slurm.etc}/{conf_file.NAME}", with_block(text, conf_file.BLOCK, f"Include {conf_file.OURS}"))


def _written(node: Node, slurm: Installation, *, ours: bool = True) -> ConfFile:
    """Return slurm.conf after the agent has written it. Raises `Failure` if it does not."""

    def look() -> ConfFile | None:
        conf = conf_file.read(node.host, slurm.etc, ours=ours)
        return conf if conf is not None and all(conf.value(key) for key in _AGENTS) else None

    what = f"{slurm.etc}/{conf_file.NAME} with {' and '.join(_AGENTS)}"
    conf = wait_for(what, look, seconds=_SECONDS, code=Code.SLURM_CONF_MISSING)
    assert conf is not None
    return conf


def _verify(node: Node) -> None:
    slurm = found(node.host)
    if node.role != CONTROLLER:
        if node.hook == ON_CREATE and node.host.path(f"{slurm.etc}/{conf_file.NAME}").exists():
            fail(Code.SLURM_CONF, f"{slurm.etc}/{conf_file.NAME} would take precedence over the controller's")
        return
    conf = conf_file.read(node.host, slurm.etc)
    if conf is None:
        fail(Code.SLURM_CONF_MISSING, f"there is no {slurm.etc}/{conf_file.NAME}")
    if CONFIGLESS not in conf.items("SlurmctldParameters"):
        fail(Code.SLURM_CONF, f"SlurmctldParameters lacks {CONFIGLESS}: nodes cannot fetch their configuration")
    wrong = topology_files.problem(node.host, slurm.etc, conf)
    if wrong:
        fail(Code.TOPOLOGY, wrong)
    _verify_ours(node, slurm, conf)


def _verify_ours(node: Node, slurm: Installation, conf: ConfFile) -> None:
    lost = keeps_auto_resume(conf)
    if node.hook != ON_CREATE:
        if lost:
            node.say(f"auto-resume does not work: {lost}")
        return
    if lost:
        fail(Code.AUTO_RESUME, f"{slurm.etc}/{conf_file.NAME}: {lost}")
    agents = conf_file.read(node.host, slurm.etc, ours=False)
    wanted = added_settings(agents, node.manifest, version(node.host)) if agents else {}
    missing = [f"{key}={value}" for key, value in wanted.items() if value not in conf.values(key)]
    if missing:
        fail(Code.SLURM_CONF, f"{slurm.etc}/{conf_file.NAME} and what it includes lack {', '.join(missing)}")
    if node.manifest.accounting and not conf.does_include(_ACCOUNTING):
        fail(Code.SLURM_CONF, f"{slurm.etc}/{conf_file.NAME} does not include {_ACCOUNTING}: no job is recorded")


STEP = Step(
    name="slurm_conf",
    summary="slurm.conf has the settings of the cluster",
    roles=EVERY_ROLE,
    hooks=frozenset({ON_CREATE, ON_INIT_COMPLETE}),
    needs=("hosts", "slurm_packages"),
    # It includes a file that accounting writes.
    after=("accounting",),
    apply=_apply,
    verify=_verify,
    timeout=150,
)
