"""`python -m llm_fleet_training <verb> --options`: finds the verb, runs it, and tells a failure in two lines."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import traceback
from typing import NoReturn, Optional, Sequence

from llm_fleet_training import verbs
from llm_fleet_training.failures import Code, Failure, leave_word


class Parser(argparse.ArgumentParser):
    """A parser that refuses with a code of ours."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Refuse the arguments."""
        raise Failure(Code.ARGUMENTS, f"{self.prog}: {message}")


def names() -> list[str]:
    """The verbs that there are: modules of `verbs/`."""
    return sorted(module.name for module in pkgutil.iter_modules(verbs.__path__) if not module.name.startswith("_"))


def parser(chosen: Optional[str]) -> Parser:
    """Only the chosen verb's module is imported, or all when none is chosen, for the help."""
    whole = Parser(prog="llm_fleet_training", description="Trains a model, and what belongs to it.")
    rooms = whole.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in [chosen] if chosen in names() else names():
        module = importlib.import_module(f"llm_fleet_training.verbs.{name}")
        room = rooms.add_parser(name, help=module.SUMMARY, description=module.SUMMARY)
        module.add_arguments(room)
        room.set_defaults(run=module.run)
    return whole


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run one verb; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = parser(given[0] if given else None).parse_args(given)
        return parsed.run(parsed)
    except Failure as failure:
        return _reported(failure)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except ModuleNotFoundError as missing:
        return _reported(Failure(Code.PACKAGE, f"{sys.executable} has no Python package `{missing.name}`"))
    except Exception as error:  # Whatever it is, it gets a code and a remedy.
        traceback.print_exc()
        return _reported(_unforeseen(error))


def _unforeseen(error: Exception) -> Failure:
    """A peer that was lost shows itself as an error of the collective that was under way."""
    text = f"{type(error).__name__}: {error}"
    signs = ("Connection closed", "Connection reset", "gloo", "NCCL", "Broken pipe", "DistBackendError", "timed out")
    lost = isinstance(error, (RuntimeError, ConnectionError)) and any(sign in text for sign in signs)
    return Failure(Code.PEER if lost else Code.UNFORESEEN, text.splitlines()[0], final=False)


def _reported(failure: Failure) -> int:
    """Told once when all processes raise it; each process of its own otherwise."""
    if not failure.shared or os.environ.get("RANK", "0") == "0":
        sys.stdout.flush()
        print(failure, file=sys.stderr, flush=True)
        leave_word(failure)
    return failure.exit_code


def leave(code: int) -> NoReturn:
    """End the process. One with torch in it ends at once: threads of its C++ parts may abort an orderly exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    if "torch" in sys.modules and "torch_xla" not in sys.modules:  # The Neuron runtime closes its devices at exit.
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(main())
