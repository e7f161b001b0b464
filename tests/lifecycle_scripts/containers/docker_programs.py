"""Strict stand-ins of Docker, containerd, and a systemd that has only these two units."""

from __future__ import annotations

import json
from pathlib import Path

from llm_fleet_node import disks
from llm_fleet_node.disks.layout import Layout
from tests.lifecycle_scripts.step_node import file, program

# Records `<unit>.enabled` and `<unit>.active` below /state. A daemon reads its root from its configuration at start.
SYSTEMCTL = """
state = root + '/state/'
def has(unit, what): return os.path.exists(f'{state}{unit}.{what}')
def loaded(unit): return has(unit, 'loaded')
def start(unit):
    import json, re
    if not loaded(unit): sys.exit(f'Unit {unit} not found.')
    if unit == 'containerd.service':
        found = re.findall(r'(?m)^root = "(.*)"$', re.split(r'(?m)^ *\\[', read('/etc/containerd/config.toml'))[0])
        place = found[-1] if found else '/var/lib/containerd'
        os.makedirs(root + '/proc/42/fd', exist_ok=True)
        link = root + '/proc/42/fd/7'
        if os.path.lexists(link): os.unlink(link)
        os.symlink(place + '/io.containerd.metadata.v1.bolt/meta.db', link)
    else:
        place = json.loads(read('/etc/docker/daemon.json') or '{}').get('data-root', '/var/lib/docker')
        write('/state/docker.root', place)
    os.makedirs(root + place, exist_ok=True)
    write(f'/state/{unit}.active', '')
if a[0] in ('is-enabled', 'is-active') and a[1] == '--quiet' and len(a) == 3:
    sys.exit(0 if has(a[2], a[0][3:]) else 1)
elif a[:2] == ['enable', '--quiet'] and len(a) == 3:
    write(f'/state/{a[2]}.enabled', '')
elif a[0] in ('start', 'restart'):
    for unit in a[1:]: start(unit)
    open(root + '/calls', 'a').write(' '.join(a) + '\\n')
elif a == ['reset-failed', 'containerd.service', 'docker.service'] or a == ['reset-failed', 'docker.service']:
    pass
elif a[:2] == ['cat', '--quiet'] and len(a) == 3:
    sys.exit(0 if loaded(a[2]) else 1)
elif a[:2] == ['show', '--property=Id,LoadState,ActiveState,MainPID']:
    blocks = []
    for unit in a[2:]:
        active = has(unit, 'active')
        pid = (42 if unit[0] == 'c' else 43) if active else 0
        blocks.append(f'MainPID={pid}\\nId={unit}\\nLoadState={"loaded" if loaded(unit) else "not-found"}\\n'
                      f'ActiveState={"active" if active else "inactive"}\\n')
    print('\\n'.join(blocks), end='')
else:
    bad()
"""
DOCKER = """
if not os.path.exists(root + '/state/docker.service.active'): sys.exit('Cannot connect to the Docker daemon')
if a == ['info', '--format', '{{.DockerRootDir}}']: print(read('/state/docker.root'))
elif a == ['ps', '--format', '{{.Names}}']: print(read('/state/containers'), end='')
else: bad()
"""


def lay_down(
    root: Path,
    *,
    containerd: bool = True,
    running: bool = True,
    docker: str = "/var/lib/docker",
    containerd_at: str = "/var/lib/containerd",
) -> Layout:
    """Give the node a running Docker with the data folder of the image, and a chosen disk for large data."""
    layout = Layout.on("/opt/dlami/nvme", "nvme")
    file(root, disks.FILE, json.dumps(layout.as_document()))
    for folder in layout.folders():
        (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
    program(root, "systemctl", SYSTEMCTL)
    program(root, "docker", DOCKER)
    for name in ("dockerd", *(["containerd"] if containerd else [])):
        program(root, name, "bad()")
    for unit in ("docker.service", *(["containerd.service"] if containerd else [])):
        file(root, f"/state/{unit}.loaded", "")
        if running:
            file(root, f"/state/{unit}.enabled", "")
            file(root, f"/state/{unit}.active", "")
    if running:
        file(root, "/state/docker.root", docker)
        for place in (docker, containerd_at):
            (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        if containerd:
            (root / "proc/42/fd").mkdir(parents=True)
            (root / "proc/42/fd/3").symlink_to("socket:[1234]")
            (root / "proc/42/fd/7").symlink_to(f"{containerd_at}/io.containerd.metadata.v1.bolt/meta.db")
    return layout
