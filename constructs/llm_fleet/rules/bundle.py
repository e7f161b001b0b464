"""Rules of the bundle of lifecycle scripts, of its bucket, and of the user's own scripts."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.terms import NodePlatform
from llm_fleet.spec.cluster import LifecycleScripts
from llm_fleet.spec.references import BUCKET

_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_BUCKET_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFile:
    """One file of the bundle."""

    path: str
    """Path relative to the folder, with `/`."""
    data: bytes
    """Content; empty for a link."""
    executable: bool
    """Whether it has the executable permission."""
    link: bool = False
    """Whether it is a symbolic link, to a file or a folder."""


def bucket_name(name: str, *, platform: NodePlatform = NodePlatform.HYPERPOD) -> list[Problem]:
    """Return why `name` cannot be the bucket of lifecycle scripts on `platform`. A CDK token passes."""
    if is_unresolved(name):
        return []
    facts = load("lifecycle")
    problems: list[Problem] = []
    if platform is NodePlatform.HYPERPOD and not name.startswith(facts["bucket_prefix"]):
        problems.append(
            Problem(
                code=Code.LIFECYCLE_BUCKET_PREFIX,
                message="HyperPod requires that the name of the bucket of lifecycle scripts begins with "
                f"{facts['bucket_prefix']}",
                value=name,
                allowed=f"{facts['bucket_prefix']}…",
                remedy=f"use a bucket named {facts['bucket_prefix']}{name}, or remove it to let llm-fleet create one",
            )
        )
    if reason := _s3_objection(name):
        problems.append(
            Problem(
                code=Code.LIFECYCLE_BUCKET_NAME,
                message=f"S3 rejects this bucket name: {reason}",
                value=name,
                allowed=f"{facts['bucket_name_min']} to {facts['bucket_name_max']} lower-case letters, digits, "
                "hyphens and dots, with a letter or digit at both ends",
                remedy="write a name of that form",
            )
        )
    return problems


def _s3_objection(name: str) -> str | None:
    """Return why S3 rejects `name`, or `None`."""
    facts = load("lifecycle")
    if not facts["bucket_name_min"] <= len(name) <= facts["bucket_name_max"]:
        return f"it has {len(name)} characters"
    if not _BUCKET_NAME.fullmatch(name):
        return "it contains an invalid character, or begins or ends with a hyphen or dot"
    if ".." in name:
        return "it contains two consecutive dots"
    for prefix in facts["bucket_name_reserved_prefixes"]:
        if name.startswith(prefix):
            return f"names that begin with {prefix} are reserved"
    for suffix in facts["bucket_name_reserved_suffixes"]:
        if name.endswith(suffix):
            return f"names that end with {suffix} are reserved"
    return None


def scripts(files: Sequence[ScriptFile], *, entry_points: Collection[str]) -> list[Problem]:
    """Return what is wrong with the bundle's `files`; HyperPod runs those of `entry_points`."""
    present = Counter(file.path for file in files)
    problems = [_missing(entry) for entry in sorted(entry_points) if entry not in present]
    problems += [_twice(path) for path, count in present.items() if count > 1]
    for file in files:
        problems += _file(file)
    total = sum(len(file.data) for file in files)
    limit = load("lifecycle")["max_bundle_kib"]
    if total > limit * 1024:
        problems.append(_too_big("the bundle", total, limit, ()))
    return problems


def manifest_size(characters: int) -> list[Problem]:
    """Return a problem when a manifest of this number of characters is too long for its deployment."""
    limit = load("lifecycle")["max_manifest_kib"]
    if characters <= limit * 1024:
        return []
    return [
        Problem(
            code=Code.BUNDLE_SIZE,
            message="the node configuration is too long for the request with which CloudFormation deploys it",
            value=f"{characters // 1024} KiB",
            allowed=f"at most {limit} KiB",
            remedy="create the lock file for fewer operating systems, or reduce the number of users",
        )
    ]


def _missing(entry: str) -> Problem:
    return Problem(
        code=Code.BUNDLE_ENTRY_MISSING,
        message=f"the bundle does not contain {entry}, which HyperPod runs on every node",
        path=(entry,),
        remedy=f"add {entry} to the top level of the scripts' folder, or remove `scripts` to use llm-fleet's scripts",
    )


def _twice(path: str) -> Problem:
    return Problem(
        code=Code.BUNDLE_NAME,
        message="both folders of scripts contain this file",
        value=path,
        path=(path,),
        remedy="rename one of the two",
    )


def _file(file: ScriptFile) -> list[Problem]:
    facts = load("lifecycle")
    if file.link:
        return [
            Problem(
                code=Code.BUNDLE_SYMLINK,
                message="this is a symbolic link, which S3 does not support",
                path=(file.path,),
                remedy="replace the link with the file",
            )
        ]
    problems: list[Problem] = []
    suffix = PurePosixPath(file.path).suffix
    if suffix in facts["script_suffixes"] and not file.executable:
        problems.append(
            Problem(
                code=Code.BUNDLE_RUN_BIT,
                message="this script is not executable",
                path=(file.path,),
                remedy=f"run chmod +x {file.path}, and git update-index --chmod=+x {file.path} if git does not "
                "record it",
            )
        )
    if suffix in facts["text_suffixes"] and b"\r\n" in file.data:
        problems.append(
            Problem(
                code=Code.BUNDLE_LINE_ENDS,
                message="this file has Windows line endings, with which bash and the #! line fail",
                path=(file.path,),
                remedy=f"run `sed -i 's/\\r$//' {file.path}`, and write `* text=auto eol=lf` to .gitattributes",
            )
        )
    if len(file.data) > facts["max_file_kib"] * 1024:
        problems.append(_too_big("this file", len(file.data), facts["max_file_kib"], (file.path,)))
    return problems + _name(file.path)


def _name(path: str) -> list[Problem]:
    facts = load("lifecycle")
    taken = (facts["manifest_name"], facts["checksums_name"])
    if path in taken:
        message, remedy = "llm-fleet writes a file with this name at deployment", "remove or rename it"
    elif not _PLAIN_NAME.fullmatch(path):
        message, remedy = "this file name is not safe in S3 and shells", "use only letters, digits, `.`, `_` and `-`"
    else:
        return []
    return [Problem(code=Code.BUNDLE_NAME, message=message, value=path, path=(path,), remedy=remedy)]


def _too_big(what: str, size: int, limit_kib: int, path: tuple[str, ...]) -> Problem:
    return Problem(
        code=Code.BUNDLE_SIZE,
        message=f"{what} is too large: every node downloads it before it can start",
        value=f"{size // 1024} KiB",
        allowed=f"at most {limit_kib} KiB",
        path=path,
        remedy="move data, packages and images to a separate bucket, and download them from there",
    )


def check_scripts_place(scripts: LifecycleScripts) -> list[Problem]:
    """Check the bucket's name, that a prefix has a bucket, and that scripts have only one source."""
    problems: list[Problem] = []
    if scripts.bucket is not None:
        problems += [problem.under("bucket") for problem in bucket_name(BUCKET.name_of(scripts.bucket))]
    if scripts.prefix is not None and scripts.bucket is None:
        problems.append(
            scripts.wrong(
                "prefix",
                Code.CLUSTER_SCRIPTS_PLACE,
                "`prefix` requires `bucket`",
                "set `bucket` to a bucket whose name begins with `sagemaker-`, or remove `prefix`",
            )
        )
    if scripts.prefix is not None and scripts.scripts is not None:
        problems.append(
            scripts.wrong(
                "scripts",
                Code.CLUSTER_SCRIPTS_PLACE,
                "set only one of `scripts`, a folder to upload, and `prefix`, which contains scripts already",
                "remove one of the two",
            )
        )
    return problems
