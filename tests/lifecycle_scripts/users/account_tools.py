"""Strict stand-ins of shadow's tools and sudo, which edit the node's files like the real ones."""

from __future__ import annotations

from pathlib import Path

from tests.lifecycle_scripts.step_node import file, program

# Like the real tools: fail on a lock of a running process or without process id; remove one of an ended process.
_LOCKS = """
for name in ('passwd', 'group', 'shadow'):
    if os.path.exists(f'{root}/etc/{name}.lock'):
        pid = read(f'/etc/{name}.lock')
        if not pid or os.path.exists(f'{root}/proc/{pid}'):
            sys.exit(f'cannot lock /etc/{name}; try again later.')
        os.unlink(f'{root}/etc/{name}.lock')
"""
GROUPADD = (
    _LOCKS
    + """
if len(a) != 3 or a[0] != '--gid': bad()
lines = read('/etc/group').splitlines()
if any(l.split(':')[0] == a[2] or l.split(':')[2] == a[1] for l in lines): sys.exit(9)
write('/etc/group', read('/etc/group') + f'{a[2]}:x:{a[1]}:\\n')
"""
)
USERADD = (
    _LOCKS
    + """
if len(a) != 14 or a[4] != '--no-create-home': bad()
given = dict(zip(a[0:4:2] + a[5:13:2], a[1:4:2] + a[6:13:2]))
if set(given) != {'--uid', '--gid', '--home-dir', '--shell', '--comment', '--password'}: bad()
name = a[13]
taken = [l.split(':') for l in read('/etc/passwd').splitlines()]
if any(l[0] == name or l[2] == given['--uid'] for l in taken): sys.exit(9)
if not any(l.split(':')[2] == given['--gid'] for l in read('/etc/group').splitlines()): sys.exit(6)
line = ':'.join([name, 'x', given['--uid'], given['--gid'], given['--comment'], given['--home-dir'], given['--shell']])
write('/etc/passwd', read('/etc/passwd') + line + '\\n')
if os.path.exists(root + '/die-in-useradd'):
    os.unlink(root + '/die-in-useradd')
    write('/etc/passwd.lock', '')
    os.kill(os.getpid(), signal.SIGKILL)
write('/etc/shadow', read('/etc/shadow') + f'{name}:{given["--password"]}:20000:0:99999:7:::\\n')
"""
)
USERMOD = (
    _LOCKS
    + """
name = a[-1]
lines = [l.split(':') for l in read('/etc/passwd').splitlines()]
if name not in [l[0] for l in lines]: sys.exit(6)
if a[0] == '--home' and len(a) == 3:
    write('/etc/passwd', ''.join(':'.join(l[:5] + [a[1]] + l[6:] if l[0] == name else l) + '\\n' for l in lines))
elif a[:4] == ['--password', '*', '--expiredate', ''] and len(a) == 5:
    others = [l for l in read('/etc/shadow').splitlines() if l.split(':')[0] != name]
    write('/etc/shadow', ''.join(l + '\\n' for l in others + [f'{name}:*:20000:0:99999:7:::']))
else:
    bad()
"""
)
VISUDO = """
if a != ['--check', '--file=-']: bad()
for line in sys.stdin.read().splitlines():
    name, _, right = line.partition(' ')
    is_name = name.isascii() and name == name.lower() and name[:1] != '-' and name.replace('-', '_').isidentifier()
    if line[:1] != '#' and (not is_name or right != 'ALL=(ALL:ALL) NOPASSWD:ALL'):
        sys.exit(f'syntax error: {line}')
"""
SUDO = """
if len(a) != 3 or a[:2] != ['--list', '--other-user']: bad()
if any(l.split()[0] == a[2] for l in read('/etc/sudoers.d/llm-fleet').splitlines()):
    print(f'User {a[2]} may run the following commands:\\n    (ALL : ALL) NOPASSWD: ALL')
else:
    print(f'User {a[2]} is not allowed to run sudo.')
"""
PASSWD = "root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/bash\n"
GROUP = "root:x:0:\nubuntu:x:1000:\n"
SHADOW = "root:*:19000:0:99999:7:::\nubuntu:!:19000:0:99999:7:::\n"


def lay_down(root: Path, *, sudo: bool = True) -> None:
    """Give the node its account files, a skeleton for homes, and the tools."""
    file(root, "/etc/passwd", PASSWD)
    file(root, "/etc/group", GROUP)
    file(root, "/etc/shadow", SHADOW, 0o640)
    file(root, "/etc/skel/.bashrc", "# from the skeleton\n")
    file(root, "/proc/self/mounts", "overlay / overlay rw 0 0\nfs@tcp:/abc /fsx lustre rw,flock 0 0\n")
    for name, body in (("groupadd", GROUPADD), ("useradd", USERADD), ("usermod", USERMOD)):
        program(root, name, body)
    if sudo:
        program(root, "visudo", VISUDO)
        program(root, "sudo", SUDO)
