"""Writes docs/commands/index.md: every command with what it is given, from the command line itself."""

import argparse
from collections.abc import Iterator

from llm_fleet.cli import main
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "commands" / "index.md"
_EXITS = """
Exit codes: 0 good, 1 problems, 2 a wrong command line, 3 AWS could not be asked (or not of everything), 4 done without
keys that `import` did not understand, 130 Ctrl-C.
Where `--json` is given, problems are on standard output as JSON, too.
"""


def page() -> str:
    """Return the page."""
    own = [(path.read_text(encoding="utf-8").splitlines()[0], path.name) for path in sorted(PLACE.parent.glob("*.md"))]
    pages = "".join(f"- [{title.removeprefix('# ')}]({name})\n" for title, name in own if name != PLACE.name)
    reported = f"Told at length, with what they print:\n\n{pages}\n" if pages else ""
    return f"# Commands\n\n{GENERATED}{_EXITS}\n{reported}" + "\n".join(_verb(*one) for one in commands(command_line()))


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `llm-fleet`."""
    return main._parser()  # pyright: ignore[reportPrivateUsage] - it is nobody else's


def commands(
    parser: argparse.ArgumentParser, before: str = "llm-fleet"
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Give every command that does something, with what it is for, verbs of verbs as well."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse tells it nowhere else
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # pyright: ignore[reportPrivateUsage]
            choices: dict[str, argparse.ArgumentParser] = action.choices  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            for name, verb in choices.items():
                inner = list(commands(verb, f"{before} {name}"))
                yield from inner or [(f"{before} {name}", helps.get(name, ""), verb)]


def _verb(name: str, reported: str, parser: argparse.ArgumentParser) -> str:
    examples = "\n".join(f"$ {line.strip()}" for line in (parser.epilog or "").splitlines()[1:])
    text = f"## {name}\n\n{reported[:1].upper()}{reported[1:]}.\n\n```console\n{examples}\n```\n\n"
    rows = [row for action in parser._actions for row in _row(action)]  # pyright: ignore[reportPrivateUsage]
    return text + (table(("option", "what it does"), rows) if rows else "")


def _row(action: argparse.Action) -> Iterator[tuple[str, str]]:
    if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:  # pyright: ignore[reportPrivateUsage]
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
