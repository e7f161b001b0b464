"""What the command tells the shell."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    """Done, and nothing is wrong."""
    PROBLEMS = 1
    """Something is wrong; it is told."""
    USAGE = 2
    """The command line itself is wrong."""
    NOT_ASKED = 3
    """AWS could not be asked, or not of everything: credentials, a denied call, throttling, the network."""
    NOT_UNDERSTOOD = 4
    """Done, without keys that were not understood: `import` names each, which may be misspelled."""
    INTERRUPTED = 130
    """Ctrl-C."""
