"""The cloud assemblies of the examples; each is synthesized once per test run, by the process that needs it first."""

import fcntl
from dataclasses import dataclass
from pathlib import Path

from tools.synth_examples import synth_example


@dataclass(frozen=True, kw_only=True)
class ExamplesMade:
    """A folder of this test run that all its processes share. Its files are never changed."""

    folder: Path

    def of(self, name: str) -> Path:
        """Return the assembly of example `name`, which is synthesized if no test has done so yet."""
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = self.folder / name
            if not made.exists():
                synth_example(name, self.folder / f"{name}.out").rename(made)
            return made

    def keep(self, name: str, assembly: Path) -> None:
        """Share `assembly`, which the caller has synthesized from example `name`, with the other processes."""
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.folder / name).exists():
                (self.folder / name).symlink_to(assembly)
