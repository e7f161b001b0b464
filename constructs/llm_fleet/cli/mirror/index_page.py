"""A page of a package index (PEP 503, 658, 691): the files of one package, with the checksums that it vouches for.

assumption: neuron-package-index-as-pep-503
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen

from llm_fleet.cli.failure import refuse
from llm_fleet.rules.codes import Code

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """A file of a package, as its index tells of it."""

    url: str
    sha256: str
    """Empty where the index tells none."""
    size: int | None = None
    requires_python: str | None = None
    metadata: str | bool = False
    """Whether `<url>.metadata` is there, or its checksum."""
    yanked: str | bool = False

    @property
    def name(self) -> str:
        """The file's name."""
        return unquote(self.url.rsplit("/", 1)[-1])


def read_page(index: str, name: str) -> list[IndexedFile] | None:
    """Return the files of the package `name`, as indexes write it; `None` where `index` has none.

    Raises `FleetError`.
    """
    page = f"{index.rstrip('/')}/{name}/"
    if not _vouches(page):
        # Its checksums are believed: over plain HTTP anybody on the way could have written them.
        refuse(Code.LOCK_WHEEL, "this is no https address of an index", "write https://…/simple", value=index)
    try:
        with urlopen(Request(page, headers={"Accept": _ACCEPT}), timeout=_SECONDS) as answer:  # noqa: S310
            content, kind, place = answer.read().decode(), answer.headers.get_content_type(), answer.url
        return _from_json(json.loads(content), place) if kind.endswith("json") else _from_html(content, place)
    except (OSError, HTTPException, ValueError) as error:
        if getattr(error, "code", None) == 404:
            return None
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


def _from_json(document: Mapping[str, Any], place: str) -> list[IndexedFile]:
    return [
        IndexedFile(
            url=urljoin(place, file["url"]),
            sha256=file.get("hashes", {}).get("sha256", ""),
            size=file.get("size"),
            requires_python=file.get("requires-python"),
            metadata=_metadata(file.get("core-metadata", file.get("dist-info-metadata", False))),
            yanked=file.get("yanked", False),
        )
        for file in document["files"]
    ]


def _from_html(content: str, place: str) -> list[IndexedFile]:
    links = _Links()
    links.feed(content)
    found: list[IndexedFile] = []
    for attributes in links.found:
        url, fragment = urldefrag(urljoin(place, attributes["href"]))
        match = re.search(r"sha256=([0-9a-f]{64})", fragment)
        told = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata"))
        found.append(
            IndexedFile(
                url=url,
                sha256=match[1] if match else "",
                requires_python=attributes.get("data-requires-python"),
                metadata=False if told is None else told.removeprefix("sha256=") if "=" in told else True,
                yanked=attributes["data-yanked"] or True if "data-yanked" in attributes else False,
            )
        )
    return found


def _metadata(told: Any) -> str | bool:
    return str(told.get("sha256", "")) or True if isinstance(told, dict) else bool(told)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.found.append(attributes)
