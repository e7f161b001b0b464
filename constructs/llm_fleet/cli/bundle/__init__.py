"""The command `llm-fleet bundle`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_place, file_if_any, fleet_of, place_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.cli.bundle.gathered_files import GatheredFiles


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "bundle",
        help="write a support bundle: configuration, states, events and logs in one archive, without secrets",
        examples=("bundle", "bundle ml-cluster -o case-1234.tar.gz --mask-accounts"),
    )
    add_place(verb)
    verb.add_argument(
        "-o", "--out", type=Path, metavar="OUT", help="new .tar.gz file (default: named after the cluster)"
    )
    verb.add_argument("--no-session", action="store_true", help="do not query Slurm on the controller")
    verb.add_argument(
        "--mask-accounts", action="store_true", help="replace each account id by <account-1>, <account-2>, …"
    )
    verb.add_argument("--json", action="store_true", help="print the contents as JSON")
    verb.set_defaults(run=bundle)


def bundle(arguments: argparse.Namespace) -> int:
    """Write the archive. Returns 3 if something could not be collected; the archive lists it, too."""
    from datetime import UTC, datetime

    from llm_fleet.cli.bundle.gathered_files import gather_files, safe_name
    from llm_fleet.cli.bundle.redact import Redactor
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.verb import ExitCode
    from llm_fleet.cli.write_files import check_place, write_archive

    fleet = fleet_of(arguments)
    place = place_of(arguments)
    out: Path = arguments.out or Path(f"llm-fleet-{safe_name(place.name)}-{datetime.now(UTC):%Y%m%d-%H%M%S}.tar.gz")
    check_place(out)
    gathered = gather_files(
        AwsClients(region=place.region),
        place,
        fleet=fleet,
        file=file_if_any(arguments),
        session=not arguments.no_session,
        redactor=Redactor(mask_accounts=arguments.mask_accounts),
    )
    write_archive(out, gathered.files)
    _print(gathered, out, as_json=arguments.json)
    return ExitCode.NOT_CHECKED if gathered.missing else ExitCode.FINE


def _print(gathered: "GatheredFiles", out: Path, *, as_json: bool) -> None:
    import sys

    from llm_fleet.cli.screen import plain_text, print_json

    if as_json:
        print_json({"bundle": str(out), "files": sorted(gathered.files), "missing": gathered.missing})
        return
    print(f"{out}: {len(gathered.files)} files, readable only by you")
    print("text that looks like a secret was removed; review the files before you share them")
    for one in gathered.missing:
        print(f"note: {plain_text(one['name'])} is left out: {plain_text(one['why'])}", file=sys.stderr)
    # Several files may be missing for one reason: its remedy is printed once.
    for remedy in dict.fromkeys(one["remedy"] for one in gathered.missing if one.get("remedy")):
        print(f"remedy: {plain_text(remedy)}", file=sys.stderr)
