"""Writes docs/examples.md: each example with the description in its file, and its picture."""

from pathlib import Path

from tools.make_docs_markdown import GENERATED
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "examples.md"
PICTURES = ROOT / "docs" / "pictures"
_HEAD = """# Examples

{generated}
Fleet files to start from. The tests synthesize each of them with every checker, and deploy some of them to a local
emulation. To deploy one there yourself, copy it into your [project](guides/new-project.md). Its first line is for this
repository: replace it with `# yaml-language-server: $schema=.llm-fleet.schema.json`.

```console
$ llm-fleet local deploy hyperpod-trn1.yaml
```

The architecture diagrams are drawn from the output of `cdk synth`; `llm-fleet plan FILE --picture OUT.svg` draws one
for your fleet file. Boxes are the Region, VPCs, Availability Zones and subnets; dashed cards are existing resources.
Read and write access is taken from the IAM policies in the templates.
"""


def examples() -> list[Path]:
    """Return the fleet files."""
    return sorted((ROOT / "examples").glob("*.yaml"))


def page() -> str:
    """Return the page."""
    return _HEAD.format(generated=GENERATED) + "".join(_section(path) for path in examples())


def _section(path: Path) -> str:
    file = f"[`examples/{path.name}`](../examples/{path.name})"
    picture = f"![Architecture of {path.stem}](pictures/{path.stem}.svg)"
    return f"\n## {path.stem}\n\n{_said(path)}\n\n{file}\n\n{picture}\n"


def _said(path: Path) -> str:
    """Return the first paragraph of the comment on top of the file."""
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        text = line.removeprefix("#").strip()
        if lines and not text:
            break
        if text and not text.startswith("yaml-language-server"):
            lines.append(text)
    return "\n".join(lines)


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
