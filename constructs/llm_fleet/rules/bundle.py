"""What must hold of the lifecycle bundle, of the bucket that holds it, and of scripts of the user's own."""

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
    """Path below the folder, with `/`."""
    data: bytes
    """What is in it; empty for a link."""
    executable: bool
    """Whether its run bit is set."""
    link: bool = False
    """Whether it is a symbolic link, to a file or a folder."""


def bucket_name(name: str, *, platform: NodePlatform = NodePlatform.HYPERPOD) -> list[Problem]:
    """Return what keeps `name` from being a bucket of lifecycle scripts on `platform`. A token passes."""
    if is_unresolved(name):
        return []
    facts = load("lifecycle")
    problems: list[Problem] = []
    if platform is NodePlatform.HYPERPOD and not name.startswith(facts["bucket_prefix"]):
        problems.append(
            Problem(
                code=Code.LIFECYCLE_BUCKET_PREFIX,
                message="HyperPod takes lifecycle scripts only from a bucket whose name begins with "
                f"{facts['bucket_prefix']}",
                value=name,
                allowed=f"{facts['bucket_prefix']}…",
                remedy=f"name it {facts['bucket_prefix']}{name}, or leave it out and let one be made",
            )
        )
    if reason := _s3_objection(name):
        problems.append(
            Problem(
                code=Code.LIFECYCLE_BUCKET_NAME,
                message=f"S3 refuses this bucket name: {reason}",
                value=name,
                allowed=f"{facts['bucket_name_min']} to {facts['bucket_name_max']} lower-case letters, digits, "
                "hyphens and dots, with a letter or digit at both ends",
                remedy="choose a name of that form",
            )
        )
    return problems


def _s3_objection(name: str) -> str | None:
    """Return what S3 has against `name`, or nothing."""
    facts = load("lifecycle")
    if not facts["bucket_name_min"] <= len(name) <= facts["bucket_name_max"]:
        return f"it has {len(name)} characters"
    if not _BUCKET_NAME.fullmatch(name):
        return "it holds a character that S3 does not take, or a hyphen or dot at an end"
    if ".." in name:
        return "it has two dots in a row"
    for prefix in facts["bucket_name_reserved_prefixes"]:
        if name.startswith(prefix):
            return f"names that begin with {prefix} are kept for AWS"
    for suffix in facts["bucket_name_reserved_suffixes"]:
        if name.endswith(suffix):
            return f"names that end with {suffix} are kept for AWS"
    return None


def scripts(files: Sequence[ScriptFile], *, entry_points: Collection[str]) -> list[Problem]:
    """Return what is wrong with the bundle's `files`, of which HyperPod is told to run `entry_points`."""
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
    """Return a problem when a manifest of so many characters cannot travel to the bucket."""
    limit = load("lifecycle")["max_manifest_kib"]
    if characters <= limit * 1024:
        return []
    return [
        Problem(
            code=Code.BUNDLE_SIZE,
            message="what nodes are told is too long for the request that CloudFormation makes when it deploys it",
            value=f"{characters // 1024} KiB",
            allowed=f"at most {limit} KiB",
            remedy="lock downloads for fewer systems, or name fewer users",
        )
    ]


def _missing(entry: str) -> Problem:
    return Problem(
        code=Code.BUNDLE_ENTRY_MISSING,
        message=f"the bundle has no {entry}, which HyperPod is told to run on every node",
        path=(entry,),
        remedy=f"put {entry} at the top of the scripts' folder, or leave `scripts` out to ship llm-fleet's own",
    )


def _twice(path: str) -> Problem:
    return Problem(
        code=Code.BUNDLE_NAME,
        message="both folders of scripts bring this file, and a bundle has room for one",
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
                message="S3 holds no links, so nodes would not get what this one points at",
                path=(file.path,),
                remedy="put the file itself in the bundle",
            )
        ]
    problems: list[Problem] = []
    suffix = PurePosixPath(file.path).suffix
    if suffix in facts["script_suffixes"] and not file.executable:
        problems.append(
            Problem(
                code=Code.BUNDLE_RUN_BIT,
                message="this script has no run bit",
                path=(file.path,),
                remedy=f"chmod +x {file.path}, and git update-index --chmod=+x where git forgets it",
            )
        )
    if suffix in facts["text_suffixes"] and b"\r\n" in file.data:
        problems.append(
            Problem(
                code=Code.BUNDLE_LINE_ENDS,
                message="this file has Windows line ends, on which bash and the #! line fail",
                path=(file.path,),
                remedy=f"sed -i 's/\\r$//' {file.path}, and `* text=auto eol=lf` in .gitattributes",
            )
        )
    if len(file.data) > facts["max_file_kib"] * 1024:
        problems.append(_too_big("this file", len(file.data), facts["max_file_kib"], (file.path,)))
    return problems + _name(file.path)


def _name(path: str) -> list[Problem]:
    facts = load("lifecycle")
    taken = (facts["manifest_name"], facts["checksums_name"])
    if path in taken:
        message, remedy = "llm-fleet writes this file itself when the bundle is deployed", "remove or rename it"
    elif not _PLAIN_NAME.fullmatch(path):
        message, remedy = "this name does not survive S3 and a shell alike", "use letters, digits, `.`, `_` and `-`"
    else:
        return []
    return [Problem(code=Code.BUNDLE_NAME, message=message, value=path, path=(path,), remedy=remedy)]


def _too_big(what: str, size: int, limit_kib: int, path: tuple[str, ...]) -> Problem:
    return Problem(
        code=Code.BUNDLE_SIZE,
        message=f"{what} is too big: every node of the fleet copies it before it can start",
        value=f"{size // 1024} KiB",
        allowed=f"at most {limit_kib} KiB",
        path=path,
        remedy="keep data, packages and images in a bucket of their own and fetch them from there",
    )


def check_scripts_place(scripts: LifecycleScripts) -> list[Problem]:
    """Check the bucket's name, that a prefix has a bucket, and that scripts are not both there and to be uploaded."""
    problems: list[Problem] = []
    if scripts.bucket is not None:
        problems += [problem.under("bucket") for problem in bucket_name(BUCKET.name_of(scripts.bucket))]
    if scripts.prefix is not None and scripts.bucket is None:
        problems.append(
            scripts.wrong(
                "prefix",
                Code.CLUSTER_SCRIPTS_PLACE,
                "a prefix is given without the bucket that it is in",
                "give the bucket, whose name begins with `sagemaker-`, or leave the prefix out",
            )
        )
    if scripts.prefix is not None and scripts.scripts is not None:
        problems.append(
            scripts.wrong(
                "scripts",
                Code.CLUSTER_SCRIPTS_PLACE,
                "scripts are given both as a folder to upload and as a prefix where they lie already",
                "give one of the two",
            )
        )
    return problems
