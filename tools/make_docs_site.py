"""Builds the docs site with zensical, strictly: a warning fails it. `make docs`."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.make_docs_outside import moved, outside
from tools.synth_environment import ROOT

SOURCES, SITE = ROOT / ".docs", ROOT / "site"


def stage(sources: Path) -> Path:
    """Write the site's sources into `sources`, and return the path of the configuration."""
    shutil.rmtree(sources, ignore_errors=True)
    pages = sources / "docs"
    shutil.copytree(ROOT / "docs", pages)
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT).as_posix()
        text = moved(path.read_text(encoding="utf-8"), page)
        (sources / page).write_text(text, encoding="utf-8")
    for path, place in outside().items():
        target = pages / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            target.write_text(moved((ROOT / path).read_text(encoding="utf-8"), path), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / path, target)
    config = sources / "mkdocs.yml"
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config.write_text(f"{settings}docs_dir: docs\nsite_dir: site\n", encoding="utf-8")
    return config


def build(sources: Path = SOURCES, site: Path = SITE) -> subprocess.CompletedProcess[str]:
    """Build the site, and return zensical's output; its exit code is not 0 if there was a warning."""
    config = stage(sources)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(config)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    shutil.rmtree(site, ignore_errors=True)
    if done.returncode == 0:  # zensical can only write below its configuration
        shutil.move(sources / "site", site)
    return done


if __name__ == "__main__":
    done = build()
    print(done.stdout + done.stderr, end="")
    print(f"the site is in {SITE.relative_to(ROOT)}/index.html" if done.returncode == 0 else "the site was not built")
    sys.exit(done.returncode)
