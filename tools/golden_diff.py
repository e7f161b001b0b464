"""`python -m tools.golden_diff COMMIT [EXAMPLE …]`: how templates of examples differ from those of another commit.

Both are synthesized by `app.py`, each by its own commit's code, with the packages that are installed here. The golden
files of most examples have only hashes; this shows the complete difference.
"""

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.synth_environment import ROOT
from tools.synth_examples import ACCOUNT, EXAMPLES, templates_in


def main() -> int:
    """Print the differences; return 1 when there is any."""
    parser = argparse.ArgumentParser(prog="python -m tools.golden_diff", description=__doc__)
    parser.add_argument("commit", help="the commit to compare with, e.g. HEAD or main")
    parser.add_argument("examples", nargs="*", help="names of examples, e.g. hyperpod-full (default: all)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        other = checked_out(given.commit, Path(work, "source"))
        lines = [
            line
            for name in given.examples or [path.stem for path in EXAMPLES]
            for line in _differences(name, other, Path(work))
        ]
    print("\n".join(lines) or "no template differs")
    return 1 if lines else 0


def checked_out(commit: str, folder: Path) -> Path:
    """Write the files of `commit` to `folder`, and return it. Raises CalledProcessError for an unknown commit."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder


def _differences(example: str, other: Path, work: Path) -> Iterator[str]:
    before, now = (
        {name: json.dumps(body, indent=1).splitlines() for name, body in templates_in(made).items()}
        for made in (_synth(other, example, work / f"{example}-before"), _synth(ROOT, example, work / f"{example}-now"))
    )
    for name in sorted({*before, *now}):
        yield from difflib.unified_diff(before.get(name, []), now.get(name, []), f"{name} before", name, lineterm="")


def _synth(source: Path, example: str, folder: Path) -> Path:
    """Return the assembly of `example` by the code in `source`; an example that it lacks has no templates."""
    file = Path("examples", f"{example}.yaml")
    if (source / file).exists():
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(source / root) for root in ("constructs", "stacks")),
            "LLM_FLEET_FILE": str(file),
            "CDK_DEFAULT_ACCOUNT": ACCOUNT,
            "CDK_OUTDIR": str(folder),
            "CDK_VALIDATION": "false",
        }
        subprocess.run([sys.executable, "app.py"], cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


if __name__ == "__main__":
    sys.exit(main())
