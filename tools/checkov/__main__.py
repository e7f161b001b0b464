"""`python -m tools.checkov`: everything that checkov finds in the templates has a reason in reasons.json."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.synth_environment import ROOT, use_project_node
from tools.synth_examples import EXAMPLES, synth_example, templates_in

_CHECKOV = ROOT / ".tools" / "checkov" / "bin" / "checkov"
_REASONS = Path(__file__).with_name("reasons.json")
_DATABASE = ROOT / "tests" / "stacks" / "golden_database" / "records-database.json"
"""A fleet that no example is."""
Found = tuple[str, str]
"""The id of a check, and the resource that fails it as checkov names it: type and logical id."""


def main() -> int:
    """Run checkov, print what has no reason and which reasons nothing needs, and return the exit code."""
    found = failed_in(_report())
    lines = differences(found, reasons())
    print("\n".join(lines) or f"checkov: {len(found)} findings, each with its reason")
    return 1 if lines else 0


def reasons() -> dict[str, dict[str, str]]:
    """Return, by check and by how the resource's name begins (type and logical id), why it is left as it is."""
    return json.loads(_REASONS.read_text(encoding="utf-8"))["reasons"]


def failed_in(report: Any) -> set[Found]:
    """Return what failed in checkov's report of one framework. Raises `SystemExit` for templates it cannot read."""
    summary: dict[str, Any] = report["summary"]
    if summary["parsing_errors"] or not summary["passed"]:
        raise SystemExit(f"checkov did not read the templates: {summary}")
    return {(one["check_id"], one["resource"]) for one in report["results"]["failed_checks"]}


def differences(found: Iterable[Found], known: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return a line for each finding without a reason, and for each reason that no finding needs."""
    needed: set[Found] = set()
    lines: list[str] = []
    for check, resource in sorted(found):
        beginnings = [one for one in known.get(check, ()) if resource.startswith(one)]
        needed.update((check, one) for one in beginnings)
        if not beginnings:
            lines.append(f"{check} {resource}: fix it, or give a reason in {_REASONS.relative_to(ROOT)}")
    unused = {(check, one) for check, reasons in known.items() for one in reasons} - needed
    return [*lines, *(f"{check} {one}: nothing is found there, remove its reason" for check, one in sorted(unused))]


def _report() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _write_templates(Path(folder))
        shutil.copy(_DATABASE, folder)
        return _checked(folder)


def _write_templates(folder: Path) -> None:
    """Write the templates of all examples to `folder`."""
    use_project_node()
    os.environ["CDK_VALIDATION"] = "false"
    for example in EXAMPLES:
        with tempfile.TemporaryDirectory() as made:
            for name, template in templates_in(synth_example(example.stem, Path(made))).items():
                (folder / f"{name}.json").write_text(json.dumps(template, indent=1), encoding="utf-8")


def _checked(folder: str) -> Any:
    words = [str(_CHECKOV), "--directory", folder, "--framework", "cloudformation", "--output", "json"]
    # It ends with 1 when it finds anything.
    ran = subprocess.run(
        [*words, "--skip-download", "--quiet", "--compact"], capture_output=True, text=True, check=False
    )
    try:
        return json.loads(ran.stdout)
    except ValueError:
        raise SystemExit(f"checkov ended with {ran.returncode}:\n{ran.stderr[-2000:]}") from None


if __name__ == "__main__":
    sys.exit(main())
