"""Wheels small enough to be made in a test, and indexes of them."""

import hashlib
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.cli.mirror.web import Web


def wheel(name: str, version: str, *requires: str, tag: str = "py3-none-any") -> tuple[str, bytes]:
    """Return the file name and the content of a wheel that pip takes for one."""
    plain = name.replace("-", "_")
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        folder = f"{plain}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
        extras = "Provides-Extra: fast\n" if any("extra ==" in each for each in requires) else ""
        archive.writestr(
            f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extras}{needs}"
        )
        archive.writestr(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{folder}/RECORD", "")
    return f"{plain}-{version}-{tag}.whl", content.getvalue()


def publish(web: Web, place: str, *wheels: tuple[str, bytes], checksum: bool = True) -> str:
    """Put `wheels` into an index at `place` of `web`; return its address."""
    pages: dict[str, list[Any]] = {}
    for file, content in wheels:
        (web.folder / "files" / place).mkdir(parents=True, exist_ok=True)
        (web.folder / "files" / place / file).write_bytes(content)
        hashes = {"sha256": hashlib.sha256(content).hexdigest()} if checksum else {}
        entry = {"filename": file, "url": f"/files/{place}/{file}", "hashes": hashes, "size": len(content)}
        pages.setdefault(file.split("-")[0].replace("_", "-").lower(), []).append(entry)
    for name, files in pages.items():
        page = web.folder / place / name / "index"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}))
        web.kinds[f"/{place}/{name}/"] = "application/vnd.pypi.simple.v1+json"
    return f"{web.url}/{place}"


def requirements(folder: Path, *lines: str) -> str:
    """Write a file of requirements; return its path."""
    path = folder / "requirements.txt"
    path.write_text("\n".join(lines) + "\n")
    return str(path)
