"""Rules of downloads of nodes: the lock file, with a checksum for each file, and the mirror."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import unquote

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.buckets import check_bucket_name, check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.cluster import Downloads

_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://[^\s/]+/\S+")
_MAKE_AGAIN = "create the lock file again with `llm-fleet mirror lock`; do not edit it"


def check_lock(document: Any) -> list[Problem]:
    """Return what is wrong with `document`, the parsed lock file: its form, and if it is right, its content."""
    if not isinstance(document, dict):
        return [_problem("the lock file must be an object with `files`", document)]
    given = cast("dict[str, Any]", document)
    version, known = given.get("schema_version"), load("downloads")["schema_version"]
    if version != known:
        return [
            _problem(f"this release of llm-fleet requires lock files of version {known}", version, "schema_version")
        ]
    files = given.get("files")
    if not isinstance(files, list):
        return [_problem("`files` must be a list", files, "files")]
    entries = cast("list[Any]", files)
    problems = [problem.under("files", index) for index, entry in enumerate(entries) for problem in _check_file(entry)]
    return problems or [*_twice(entries), *_requirements(entries), *_total(entries)]


def _check_file(entry: Any) -> Iterator[Problem]:
    if not isinstance(entry, dict):
        yield _problem("a file must be an object", entry)
        return
    file = cast("dict[str, Any]", entry)
    for key in [key for key in _FIELDS if key not in file]:
        yield _problem(f"`{key}` is required for a file", None, key)
    for key, value in file.items():
        check = _FIELDS.get(key)
        if check is None:
            yield _problem(f"unknown key `{key}`", value, key)
        elif (fault := check(value)) is not None:
            yield _problem(fault, value, key)


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "this must be text that is not empty"


def _kind(value: Any) -> str | None:
    kinds = load("downloads")["kinds"]
    return None if value in kinds else f"the kind of a file must be one of {', '.join(kinds)}"


def _system(value: Any) -> str | None:
    facts = load("downloads")
    if value is None or (isinstance(value, str) and re.fullmatch(facts["system_pattern"], value)):
        return None
    return f"a system must have a name such as {facts['system_examples'][0]}, or be null for any system"


def _url(value: Any) -> str | None:
    return None if isinstance(value, str) and _URL.fullmatch(value) else "this is not the URL of a file"


def _sha256(value: Any) -> str | None:
    return (
        None
        if isinstance(value, str) and _SHA256.fullmatch(value)
        else "this is not a SHA-256 checksum in lower-case hexadecimal"
    )


def _size(value: Any) -> str | None:
    most = load("downloads")["max_file_gib"]
    if type(value) is not int or value < 1:
        return "the size must be a whole number of bytes above 0"
    return None if value <= most << 30 else f"a file must be at most {most} GiB, as nodes download it before they start"


def _requires(value: Any) -> str | None:
    names = cast("list[Any]", value) if isinstance(value, list) else [None]
    return (
        None if all(isinstance(name, str) and name for name in names) else "this must be a list of names of other files"
    )


_FIELDS: Mapping[str, Callable[[Any], str | None]] = {
    "name": _text,
    "version": _text,
    "kind": _kind,
    "system": _system,
    "url": _url,
    "sha256": _sha256,
    "size": _size,
    "requires": _requires,
}


def _twice(files: Sequence[dict[str, Any]]) -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    for index, file in enumerate(files):
        identity = (file["name"], file["version"], file["system"])
        if seen.setdefault(identity, index) != index:
            yield _problem("this file is listed twice", file["name"], "files", index, "name")


def _requirements(files: Sequence[dict[str, Any]]) -> Iterator[Problem]:
    names = {file["name"] for file in files}
    for index, file in enumerate(files):
        for place, name in enumerate(file["requires"]):
            if name not in names:
                problem = _problem("the lock file has no file with this name", name, "files", index, "requires", place)
                yield Problem(
                    code=problem.code,
                    message=problem.message,
                    path=problem.path,
                    value=name,
                    remedy=did_you_mean(name, names, otherwise=_MAKE_AGAIN),
                )


def _total(files: Sequence[dict[str, Any]]) -> Iterator[Problem]:
    """The downloads of each system must fit on the root volume."""
    most = load("downloads")["max_total_gib"]
    for system in sorted({file["system"] for file in files if file["system"] is not None}) or [None]:
        total = sum(file["size"] for file in files if file["system"] in (None, system))
        if total > most << 30:
            what = f"the files for {system}" if system else "the files"
            yield _problem(f"{what} have {total >> 30} GiB in total, and must have at most {most} GiB", total, "files")


def _problem(message: str, value: Any, *path: str | int) -> Problem:
    return Problem(code=Code.DOWNLOADS_LOCK, message=message, remedy=_MAKE_AGAIN, path=path, value=value)


_S3 = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?")


def check_mirror(downloads: Downloads) -> Iterator[Problem]:
    """Return what is wrong with the location of the mirror of `downloads`."""
    mirror = downloads.mirror
    if not isinstance(mirror, str):
        yield from check_key_prefix(downloads.prefix, Code.DOWNLOADS_MIRROR)
    elif not mirror.startswith("s3://") or check_bucket_name(downloads.mirror_name):
        yield downloads.wrong(
            "mirror",
            Code.DOWNLOADS_MIRROR,
            "this is not an S3 URI",
            "write s3://bucket or s3://bucket/prefix",
        )
    else:
        for problem in check_key_prefix(downloads.mirror_prefix, Code.DOWNLOADS_MIRROR):
            yield replace(problem, path=("mirror",), value=mirror)


def mirror_key(url: str, sha256: str) -> str:
    """Return the file's key below the mirror's prefix: its checksum, which makes it unique, and its name."""
    name = url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
    return f"{sha256}/{unquote(name).replace('/', '_')}"


def split_s3_uri(uri: str) -> tuple[str, str] | None:
    """Return bucket and prefix (without slash at its end) of `s3://bucket/prefix`; `None` for anything else."""
    match = _S3.fullmatch(uri)
    return (match["bucket"], (match["prefix"] or "").strip("/")) if match else None


def check_mirror_place(place: str) -> list[Problem]:
    """Return a problem unless `place` is a folder or `s3://bucket/prefix`."""
    if split_s3_uri(place) or (place and "://" not in place and not place.startswith("s3:")):
        return []
    return [
        Problem(
            code=Code.MIRROR_PLACE,
            message="a mirror must be a folder or an S3 URI",
            remedy="write a path or s3://bucket/prefix",
            value=place,
        )
    ]
