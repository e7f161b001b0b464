"""Golden templates of the examples: `tests/stacks/golden` says what each template was at the last commit.

The templates of the fleets of `WHOLE` are stored as a whole, so that people can read them. Of every other fleet one
file lists, stack by stack and in the template's order, each entry of each section: its logical id, its type and the
hash of its content. A difference names the resource; `python -m tools.golden_diff COMMIT EXAMPLE` shows it in full.
"""

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from tools.synth_environment import ROOT

GOLDEN = ROOT / "tests" / "stacks" / "golden"
WHOLE = frozenset(
    {
        "hyperpod-trn1",
        "inference-inf2",
        "parallelcluster-trn1",
        "sagemaker-endpoint",
        "sagemaker-notebook",
        "sagemaker-training",
    }
)
"""The example of the README, and the smallest example of each kind."""
HASH = re.compile(r"\b[0-9a-f]{64}\b")
"""The hash of a node script or of a handler; these files have their own tests."""
_ENTRY = re.compile(r" +Resources (?P<id>\S+) (?P<type>\S+) [0-9a-f]{16}")


def differences(example: str, templates: Mapping[str, Any], *, golden: Path = GOLDEN) -> list[str]:
    """Return how `templates`, by name of stack, differ from the stored ones, as a unified diff.

    With `UPDATE_GOLDEN` in the environment, the stored templates are first replaced.
    """
    made = _whole(example, templates) if example in WHOLE else {f"{example}.txt": _listed(templates)}
    if os.environ.get("UPDATE_GOLDEN"):
        for path in _kept(example, golden):
            path.unlink()
        for name, text in made.items():
            (golden / name).parent.mkdir(parents=True, exist_ok=True)
            (golden / name).write_text(text, encoding="utf-8")
    found = {str(path.relative_to(golden)): path.read_text(encoding="utf-8") for path in _kept(example, golden)}
    return [line for name in sorted({*made, *found}) for line in _diff(name, found.get(name, ""), made.get(name, ""))]


def _kept(example: str, golden: Path) -> list[Path]:
    return [*(golden / example).glob("*.json"), *golden.glob(f"{example}.txt")]


def golden_resources() -> Iterator[tuple[str, str]]:
    """Yield type and logical id of each resource of each example."""
    for path in GOLDEN.rglob("*.json"):
        for name, body in json.loads(path.read_text(encoding="utf-8"))["Resources"].items():
            yield body["Type"], name
    for path in GOLDEN.glob("*.txt"):
        for found in _ENTRY.finditer(path.read_text(encoding="utf-8")):
            yield found["type"], found["id"]


def text_of(value: Any) -> str:
    """Return `value` as the golden files have it: keys in their order, hashes of files hidden."""
    return HASH.sub("<hash>", json.dumps(value, indent=1))


def _whole(example: str, templates: Mapping[str, Any]) -> dict[str, str]:
    return {f"{example}/{name}.json": text_of(template) + "\n" for name, template in templates.items()}


def _listed(templates: Mapping[str, Any]) -> str:
    return "".join(f"{name}\n{''.join(_lines(template))}" for name, template in sorted(templates.items()))


def _lines(template: Mapping[str, Any]) -> Iterator[str]:
    for section, held in template.items():
        entries = cast(dict[str, Any], held if isinstance(held, dict) else {"": held})
        for name, body in entries.items():
            kind = str(body["Type"]) if section == "Resources" else ""
            digest = hashlib.sha256(text_of(body).encode()).hexdigest()[:16]
            yield f"  {' '.join(word for word in (section, name, kind, digest) if word)}\n"


def _diff(name: str, kept: str, made: str) -> Iterator[str]:
    before, now = kept.splitlines(keepends=True), made.splitlines(keepends=True)
    return difflib.unified_diff(before, now, f"kept/{name}", f"made/{name}", n=1)
