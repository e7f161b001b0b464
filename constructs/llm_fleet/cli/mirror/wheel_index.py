"""Looks wheels up in a package index (PEP 503 and 691), whose checksums are pinned."""

import json
import re
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen

from llm_fleet.cli.mirror.failure import refuse
from llm_fleet.cli.mirror.locked_file import LockedFile
from llm_fleet.cli.mirror.named_file import size_of
from llm_fleet.rules.codes import Code

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_SECONDS = 60
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Debian's names of architectures, and those in the names of wheels."""
Found = tuple[str, str, int | None]
"""URL, SHA-256 and size of a file, the last where the index tells it."""


def find_wheel(indexes: Iterable[str], name: str, version: str, *, python: str, system: str) -> LockedFile:
    """Return the wheel of `name` in exactly `version` for CPython `python` (e.g. `3.10`) on `system`.

    The first of `indexes` that has it wins. Raises `FleetError`.
    """
    seen: list[str] = []
    for index in indexes:
        for url, sha256, size in _files(index, name):
            file = unquote(url.rsplit("/", 1)[-1])
            parts = file.removesuffix(".whl").split("-")
            if not file.endswith(".whl") or len(parts) < 5 or _plain(parts[0]) != _plain(name) or parts[1] != version:
                continue
            seen.append(file)
            if _fits(parts[-3], parts[-1], python, system) and sha256:
                universal = parts[-1] == "any"
                return LockedFile(
                    name=name,
                    version=version,
                    kind="wheel",
                    system=None if universal else system,
                    url=url,
                    sha256=sha256,
                    size=size or size_of(url),
                )
    message = f"no index has a wheel {name} {version} with a SHA-256 for Python {python} on {system}"
    remedy = (
        f"take another version or Python; of this version there is {', '.join(seen)}" if seen else "see its spelling"
    )
    refuse(Code.LOCK_WHEEL, message, remedy, value=f"{name}=={version}")


def _files(index: str, name: str) -> list[Found]:
    page = f"{index.rstrip('/')}/{_plain(name)}/"
    if not _vouches(page):
        # Its checksums are believed: over plain HTTP anybody on the way could have written them.
        refuse(Code.LOCK_WHEEL, "this is no https address of an index", "write https://…/simple", value=index)
    try:
        with urlopen(Request(page, headers={"Accept": _ACCEPT}), timeout=_SECONDS) as answer:  # noqa: S310
            content, kind, place = answer.read().decode(), answer.headers.get_content_type(), answer.url
        return _from_json(json.loads(content), place) if kind.endswith("json") else _from_html(content, place)
    except (OSError, HTTPException, ValueError) as error:
        if getattr(error, "code", None) == 404:
            return []
        refuse(Code.LOCK_WHEEL, f"{page} cannot be read: {error}", "see that the index can be reached", value=index)
    except (KeyError, TypeError, AttributeError):
        refuse(Code.LOCK_WHEEL, f"{page} is no index of packages", "see the address of the index", value=index)


def _vouches(page: str) -> bool:
    """Return whether nobody on the way can have changed `page`."""
    if page.startswith("https://"):
        return True
    host = urlsplit(page).hostname or ""
    try:
        return page.startswith("http://") and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def _from_json(document: Mapping[str, Any], place: str) -> list[Found]:
    return [
        (urljoin(place, file["url"]), file.get("hashes", {}).get("sha256", ""), file.get("size"))
        for file in document["files"]
    ]


def _from_html(content: str, place: str) -> list[Found]:
    links = _Links()
    links.feed(content)
    found: list[Found] = []
    for link in links.found:
        url, fragment = urldefrag(urljoin(place, link))
        match = re.search(r"sha256=([0-9a-f]{64})", fragment)
        found.append((url, match[1] if match else "", None))
    return found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.extend(value for name, value in attrs if tag == "a" and name == "href" and value)


def _fits(python_tag: str, platform_tag: str, python: str, system: str) -> bool:
    """Return whether tags of a wheel fit; its ABI is that of its Python tag, or the stable one."""
    machine = system.rsplit("-", 1)[-1]
    machine = _MACHINES.get(machine, machine)
    major, minor = (int(part) for part in python.split(".")[:2])
    pythons = {f"py{major}", f"py{major}{minor}", f"cp{major}{minor}"}
    platforms = platform_tag.split(".")
    fits = any(each == "any" or ("linux" in each and each.endswith(f"_{machine}")) for each in platforms)
    return fits and bool(pythons & set(python_tag.split(".")))


def _plain(name: str) -> str:
    """Return `name` as indexes write it: `neuronx_distributed` is `neuronx-distributed`."""
    return re.sub(r"[-_.]+", "-", name).lower()
