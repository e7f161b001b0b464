"""`llm-fleet mirror lock`, `build` and `check`: what they are given, and what they do."""

import argparse
import sys
import tempfile
from pathlib import Path

from llm_fleet.cli.verb import Verbs


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    mirror = verbs.add_parser("mirror", help="pin what nodes may fetch, and keep it in S3 for them")
    deeds = mirror.add_subparsers(title="commands", metavar="COMMAND", required=True)

    deed = deeds.add_parser("lock", help="write the lock file: versions and checksums, from signed package indexes")
    deed.add_argument("--system", required=True, help="of the nodes, e.g. ubuntu-24.04-amd64")
    deed.add_argument("--packages", nargs="+", default=[], metavar="NAME[=VERSION]", help="with all that they need")
    deed.add_argument("--neuron", metavar="RELEASE", help="host packages of a Neuron release, e.g. 2.28.1")
    deed.add_argument("--environment", metavar="STACK", help="Python packages of that release for training, e.g. nxd")
    deed.add_argument("--requirements", type=Path, metavar="FILE", help="Python packages, with all that they need")
    deed.add_argument("--sources", action="append", default=[], type=Path, metavar="FILE", help="sources.list of apt")
    deed.add_argument(
        "--keyring", dest="keyrings", action="append", default=[], type=Path, metavar="FILE", help="keys of the sources"
    )
    deed.add_argument("--installed", type=Path, metavar="FILE", help="dpkg status file of the nodes' image")
    deed.add_argument("--wheels", nargs="+", default=[], metavar="NAME==VERSION", help="Python wheels, without others")
    deed.add_argument(
        "--index", dest="indexes", action="append", default=[], metavar="URL", help="index of wheels, https://…/simple"
    )
    deed.add_argument(
        "--index-of",
        dest="own_indexes",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "URL"),
        help="index of one package alone",
    )
    deed.add_argument("--python", default="3.12", metavar="X.Y", help="Python that the wheels are for (default: 3.12)")
    deed.add_argument(
        "--file",
        dest="files",
        nargs=4,
        action="append",
        default=[],
        metavar=("NAME", "VERSION", "URL", "SHA256"),
        help="any file",
    )
    deed.add_argument("--keep", type=Path, metavar="LOCK", help="a lock file whose other systems stay in it")
    deed.add_argument(
        "-o", "--out", default=Path("downloads.lock.json"), type=Path, metavar="OUT", help="file to write"
    )
    deed.add_argument("--force", action="store_true", help="write over OUT")
    deed.set_defaults(run=_lock)

    for name, run, text in (
        ("build", _build, "fetch what the lock file pins, verify it, and put into the mirror what that lacks"),
        ("check", _check, "prove that the mirror holds all that the lock file pins, unchanged"),
    ):
        deed = deeds.add_parser(name, help=text)
        deed.add_argument("--lock", default=Path("downloads.lock.json"), type=Path, help="default: downloads.lock.json")
        deed.add_argument("--to", required=True, metavar="PLACE", help="a folder, or s3://bucket/prefix")
        deed.add_argument("--region", help="region of the bucket (default: that of your AWS settings)")
        if run is _build:
            deed.add_argument("--cache", type=Path, metavar="DIR", help="keeps what was fetched, for the next run")
        else:
            deed.add_argument("--quick", action="store_true", help="go by sizes, without reading the files")
        deed.set_defaults(run=run)


def _lock(arguments: argparse.Namespace) -> int:
    """Write a lock file."""
    from llm_fleet.cli.mirror.build import Request, resolve
    from llm_fleet.cli.mirror.locked_file import lock_text, read_lock
    from llm_fleet.cli.write_files import write_file

    kept = [file for file in read_lock(arguments.keep) if file.system != arguments.system] if arguments.keep else []
    with tempfile.TemporaryDirectory(prefix="llm-fleet-") as scratch:
        found = resolve(Request.of(arguments), Path(scratch))
    # Files for any system are in both.
    files = list({(file.name, file.version, file.system): file for file in (*kept, *found)}.values())
    write_file(arguments.out, lock_text(files), force=arguments.force)
    total = sum(file.size for file in files)
    print(f"wrote {arguments.out}: {len(files)} files, {total / 1e6:.1f} MB", file=sys.stderr)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    """Fill a mirror."""
    from llm_fleet.cli.mirror.build import build
    from llm_fleet.cli.mirror.locked_file import open_store, read_lock

    files = read_lock(arguments.lock)
    put = build(files, open_store(arguments.to, arguments.region), arguments.cache)
    print(
        f"{arguments.to}: {put} files put there, {len({file.key for file in files}) - put} were there", file=sys.stderr
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Prove a mirror."""
    from llm_fleet.cli.mirror.build import check
    from llm_fleet.cli.mirror.locked_file import open_store, read_lock

    files = read_lock(arguments.lock)
    count = check(files, open_store(arguments.to, arguments.region), quick=arguments.quick)
    print(f"{arguments.to}: all {count} files are there{'' if arguments.quick else ' and unchanged'}")
    return 0
