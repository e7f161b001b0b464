"""The commands `llm-fleet mirror lock`, `build` and `check`."""

import argparse
import sys
import tempfile
from pathlib import Path

from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    build = "mirror build --to s3://our-mirror/nodes"
    lock = "mirror lock --system ubuntu-24.04-amd64 --neuron 2.28.1 --sources nodes.list --keyring neuron.gpg"
    mirror = add_verb(
        verbs,
        "mirror",
        help="pin the packages and files that nodes download, and store them in S3",
        examples=(lock, build),
    )
    commands = mirror.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = add_verb(
        commands,
        "lock",
        help="write the lock file: versions and checksums, from signed package indexes",
        examples=(lock, "mirror lock --system ubuntu-22.04-amd64 --python 3.10 --environment nxd --neuron 2.28.1"),
    )
    command.add_argument("--system", required=True, help="operating system of the nodes, e.g. ubuntu-24.04-amd64")
    command.add_argument(
        "--packages",
        nargs="+",
        default=[],
        metavar="NAME[=VERSION]",
        help="apt packages to pin, with their dependencies",
    )
    command.add_argument(
        "--neuron", metavar="RELEASE", help="pin the host packages of this Neuron release, e.g. 2.28.1"
    )
    command.add_argument(
        "--environment", metavar="STACK", help="with --neuron: pin the Python packages of this training stack, e.g. nxd"
    )
    command.add_argument(
        "--requirements", type=Path, metavar="FILE", help="file of Python requirements to pin, with their dependencies"
    )
    command.add_argument(
        "--sources", action="append", default=[], type=Path, metavar="FILE", help="apt sources.list file"
    )
    command.add_argument(
        "--keyring",
        dest="keyrings",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="signing keys of the sources",
    )
    command.add_argument("--installed", type=Path, metavar="FILE", help="dpkg status file of the nodes' image")
    command.add_argument(
        "--wheels",
        nargs="+",
        default=[],
        metavar="NAME==VERSION",
        help="Python wheels to pin, without their dependencies",
    )
    command.add_argument(
        "--index", dest="indexes", action="append", default=[], metavar="URL", help="package index, https://…/simple"
    )
    command.add_argument(
        "--index-of",
        dest="own_indexes",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "URL"),
        help="package index for one package",
    )
    command.add_argument("--python", default="3.12", metavar="X.Y", help="Python version of the wheels (default: 3.12)")
    command.add_argument(
        "--file",
        dest="files",
        nargs=4,
        action="append",
        default=[],
        metavar=("NAME", "VERSION", "URL", "SHA256"),
        help="any other file to pin",
    )
    command.add_argument(
        "--keep", type=Path, metavar="LOCK", help="existing lock file, whose entries for other systems are kept"
    )
    command.add_argument(
        "-o", "--out", default=Path("downloads.lock.json"), type=Path, metavar="OUT", help="file to write"
    )
    command.add_argument("--force", action="store_true", help="overwrite OUT")
    command.set_defaults(run=_lock)

    for name, run, text, examples in (
        (
            "build",
            _build,
            "download the files of the lock file, verify them, and upload those that are missing in the mirror",
            (build, "mirror build --lock downloads.lock.json --to ./mirror --cache ~/.cache/llm-fleet"),
        ),
        (
            "check",
            _check,
            "verify that the mirror has every file of the lock file, unchanged",
            ("mirror check --to s3://our-mirror/nodes", "mirror check --to s3://our-mirror/nodes --quick"),
        ),
    ):
        command = add_verb(commands, name, help=text, examples=examples)
        command.add_argument(
            "--lock", default=Path("downloads.lock.json"), type=Path, help="lock file (default: downloads.lock.json)"
        )
        command.add_argument(
            "--to", required=True, metavar="PLACE", help="the mirror: a directory, or s3://bucket/prefix"
        )
        command.add_argument("--region", help="AWS Region of the bucket (default: that of your AWS settings)")
        if run is _build:
            command.add_argument(
                "--cache", type=Path, metavar="DIR", help="directory that keeps downloaded files for the next run"
            )
        else:
            command.add_argument("--quick", action="store_true", help="compare sizes only, without reading the files")
        command.set_defaults(run=run)


def _lock(arguments: argparse.Namespace) -> int:
    """Write a lock file."""
    from llm_fleet.cli.mirror.build import Request, resolve
    from llm_fleet.cli.mirror.locked_file import lock_text, read_lock
    from llm_fleet.cli.write_files import write_file

    kept = [file for file in read_lock(arguments.keep) if file.system != arguments.system] if arguments.keep else []
    with tempfile.TemporaryDirectory(prefix="llm-fleet-") as scratch:
        found = resolve(Request.of(arguments), Path(scratch))
    # Both have the files for any system.
    files = list({(file.name, file.version, file.system): file for file in (*kept, *found)}.values())
    write_file(arguments.out, lock_text(files), force=arguments.force)
    total = sum(file.size for file in files)
    print(f"wrote {arguments.out}: {len(files)} files, {total / 1e6:.1f} MB", file=sys.stderr)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    """Upload missing files to the mirror."""
    from llm_fleet.cli.mirror.build import build
    from llm_fleet.cli.mirror.locked_file import open_store, read_lock

    files = read_lock(arguments.lock)
    put = build(files, open_store(arguments.to, arguments.region), arguments.cache)
    print(
        f"{arguments.to}: {put} files uploaded, {len({file.key for file in files}) - put} existed already",
        file=sys.stderr,
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Verify the mirror."""
    from llm_fleet.cli.mirror.build import check
    from llm_fleet.cli.mirror.locked_file import open_store, read_lock

    files = read_lock(arguments.lock)
    count = check(files, open_store(arguments.to, arguments.region), quick=arguments.quick)
    print(f"{arguments.to}: all {count} files exist{'' if arguments.quick else ' and are unchanged'}")
    return 0
