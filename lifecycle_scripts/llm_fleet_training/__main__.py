"""`python -m llm_fleet_training <verb> --options`: runs one verb and prints a failure in two lines."""

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
    """A parser whose errors have a code of `failures.py`."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Raise LFJ01."""
        raise Failure(Code.ARGUMENTS, f"{self.prog}: {message}")


def names() -> list[str]:
    """The names of the modules in `verbs/`."""
    return sorted(module.name for module in pkgutil.iter_modules(verbs.__path__) if not module.name.startswith("_"))


def parser(chosen: Optional[str]) -> Parser:
    """Imports the module of the chosen verb only, or all modules for the help when no verb is given."""
    whole = Parser(prog="llm_fleet_training", description="Trains a model, and prepares its weights and data.")
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
        return _report(failure)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except ModuleNotFoundError as missing:
        return _report(Failure(Code.PYTHON_PACKAGE, f"{sys.executable} has no Python package `{missing.name}`"))
    except Exception as error:  # Any other exception gets a code and a remedy, too.
        traceback.print_exc()
        return _report(_unforeseen(error))


def _unforeseen(error: Exception) -> Failure:
    """When a peer is lost, the collective in progress fails with one of these errors."""
    text = f"{type(error).__name__}: {error}"
    signs = ("Connection closed", "Connection reset", "gloo", "NCCL", "Broken pipe", "DistBackendError", "timed out")
    lost = isinstance(error, (RuntimeError, ConnectionError)) and any(sign in text for sign in signs)
    return Failure(Code.LOST_PEER if lost else Code.UNEXPECTED_ERROR, text.splitlines()[0], final=False)


def _report(failure: Failure) -> int:
    """Printed by rank 0 only when all processes raise it, by each process that raises it when they do not."""
    if not failure.shared or os.environ.get("RANK", "0") == "0":
        sys.stdout.flush()
        print(failure, file=sys.stderr, flush=True)
        leave_word(failure)
    return failure.exit_code


def leave(code: int) -> NoReturn:
    """End the process. With torch, it ends immediately: threads of torch's C++ code may abort a normal exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    if "torch" in sys.modules and "torch_xla" not in sys.modules:  # The Neuron runtime closes its devices at exit.
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(main())
