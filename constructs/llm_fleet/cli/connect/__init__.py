"""The command `llm-fleet connect`."""

import argparse
import re

from llm_fleet.cli.place import add_place
from llm_fleet.cli.verb import Verbs, add_verb, checked

_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_HELP = "a role (controller, login, head), group-number (trn1-3), instance id, Slurm name or address"


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "connect",
        help="open a shell on a node through Session Manager, without an open port or an SSH key",
        examples=("connect", "connect trn1-3 -c ml-cluster --command 'neuron-ls; df -h /'"),
    )
    verb.add_argument("node", nargs="?", metavar="NODE", help=f"{_HELP} (default: a login node, else the controller)")
    add_place(verb, option=True)
    verb.add_argument("--user", type=_user, help="Unix user on the node (default: root on HyperPod, ssm-user on EC2)")
    what = verb.add_mutually_exclusive_group()
    what.add_argument(
        "--command", metavar="TEXT", help="run this command with bash instead of a shell, and return its exit code"
    )
    what.add_argument(
        "--port-forward",
        type=checked(_ports),
        metavar="HERE:THERE",
        help="forward a local port to a port of the node",
    )
    what.add_argument("--ssh-config", action="store_true", help="print an ssh configuration for all nodes")
    verb.add_argument("--write", action="store_true", help="with --ssh-config: write it to ~/.ssh/llm-fleet/NAME.conf")
    verb.add_argument("--print", action="store_true", help="print the AWS CLI command without running it")
    verb.add_argument(
        "--json", action="store_true", help="print JSON: the node and the command, or the output of --command"
    )
    verb.set_defaults(run=_run, usage=verb.error)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.write and not arguments.ssh_config:
        arguments.usage("--write requires --ssh-config")
    if arguments.ssh_config and (arguments.print or arguments.node):
        arguments.usage("--ssh-config is for all nodes: remove NODE and --print")
    from llm_fleet.cli.connect.connection import Connect

    return Connect(arguments).run()


def _ports(text: str) -> object:
    from llm_fleet.cli.connect.connection import Ports

    return Ports.read(text)


def _user(text: str) -> str:
    if not _USER.fullmatch(text):
        raise argparse.ArgumentTypeError("a login name has letters, digits, _ . and -, and begins with a letter or _")
    return text
