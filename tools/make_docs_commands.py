"""Writes docs/commands/index.md: every command with its options, from the argument parser."""

import argparse
from collections.abc import Iterator

from llm_fleet.cli import main
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "commands" / "index.md"
_EXITS = """
Exit codes: 0 success, 1 problems, 2 invalid command line, 3 AWS could not be queried (or not completely), 4 completed
without the unknown keys that `import` found, 130 Ctrl-C.
With `--json`, problems are printed on standard output as JSON.
"""


def page() -> str:
    """Return the page."""
    own = [(path.read_text(encoding="utf-8").splitlines()[0], path.name) for path in sorted(PLACE.parent.glob("*.md"))]
    pages = "".join(f"- [{title.removeprefix('# ')}]({name})\n" for title, name in own if name != PLACE.name)
    details = f"Pages with details and sample output:\n\n{pages}\n" if pages else ""
    return f"# Commands\n\n{GENERATED}{_EXITS}\n{details}" + "\n".join(_verb(*one) for one in commands(command_line()))


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `llm-fleet`."""
    return main._parser()  # pyright: ignore[reportPrivateUsage] - no other module needs it


def commands(
    parser: argparse.ArgumentParser, before: str = "llm-fleet"
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield every command, subcommands included, as name, help text and parser."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse has no public API for it
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # pyright: ignore[reportPrivateUsage]
            choices: dict[str, argparse.ArgumentParser] = action.choices  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            for name, verb in choices.items():
                inner = list(commands(verb, f"{before} {name}"))
                if not inner or not _requires_command(verb):
                    yield f"{before} {name}", helps.get(name, ""), verb
                yield from inner


def _requires_command(verb: argparse.ArgumentParser) -> bool:
    """Return whether `verb` does nothing without a subcommand."""
    return any(one.required for one in verb._actions if isinstance(one, argparse._SubParsersAction))  # pyright: ignore[reportPrivateUsage]


def _verb(name: str, summary: str, parser: argparse.ArgumentParser) -> str:
    examples = "\n".join(f"$ {line.strip()}" for line in (parser.epilog or "").splitlines()[1:])
    text = f"## {name}\n\n{summary[:1].upper()}{summary[1:]}.\n\n```console\n{examples}\n```\n\n"
    rows = [row for action in parser._actions for row in _row(action)]  # pyright: ignore[reportPrivateUsage]
    return text + (table(("option", "what it does"), rows) if rows else "")


def _row(action: argparse.Action) -> Iterator[tuple[str, str]]:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
    if isinstance(action, hidden) or action.help == argparse.SUPPRESS:
        return
    value = _value(action)
    names = ", ".join(f"{name} {value}".strip() for name in action.option_strings) or value
    yield code(names), (action.help or "").replace("%%", "%")


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices is not None and action.metavar is None:
        return "{" + ",".join(str(one) for one in action.choices) + "}"
    return str(action.metavar or action.dest.upper())


if __name__ == "__main__":
    PLACE.parent.mkdir(exist_ok=True)
    PLACE.write_text(page(), encoding="utf-8")
