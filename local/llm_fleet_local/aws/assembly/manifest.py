"""Reads a cloud assembly: its stacks in order of deployment, and their file assets."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAsset:
    """A file, or a directory to be zipped, and its destination."""

    path: Path
    zipped: bool
    bucket: str
    key: str
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyStack:
    """One stack to deploy."""

    name: str
    region: str
    template: Path
    template_url: str | None
    """`s3://bucket/key`, when the template is itself an asset."""
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    termination_protection: bool
    assets: tuple[FileAsset, ...]


def stacks_of(assembly: Path, *, account: str, region: str) -> list[AssemblyStack]:
    """Return the stacks, also those in stages, each after its dependencies.

    `account` and `region` are used where the app does not set them. Raises `ValueError` for assets that cannot be
    deployed here (container images).
    """
    manifest = json.loads((assembly / "manifest.json").read_text(encoding="utf-8"))
    artifacts: dict[str, dict[str, Any]] = manifest.get("artifacts", {})
    needs = {
        name: [need for need in body.get("dependencies", []) if need in artifacts] for name, body in artifacts.items()
    }
    stacks: list[AssemblyStack] = []
    for name in TopologicalSorter(needs).static_order():
        body = artifacts[name]
        if body["type"] == "cdk:cloud-assembly":
            stacks += stacks_of(assembly / body["properties"]["directoryName"], account=account, region=region)
        elif body["type"] == "aws:cloudformation:stack":
            stacks.append(_stack(name, body, artifacts, assembly, account, region))
    return stacks


def _stack(
    name: str, body: dict[str, Any], artifacts: dict[str, dict[str, Any]], assembly: Path, account: str, region: str
) -> AssemblyStack:
    properties = body["properties"]
    own_account, own_region = body["environment"].removeprefix("aws://").split("/")
    where = {
        "AWS::AccountId": account if own_account == "unknown-account" else own_account,
        "AWS::Region": region if own_region == "unknown-region" else own_region,
        "AWS::Partition": "aws",
    }
    if where["AWS::AccountId"] != account:
        raise ValueError(f"{name} is for account {own_account}, but the AWS emulator has account {account}")
    manifests = [artifacts[need] for need in body.get("dependencies", []) if _is_asset_manifest(artifacts.get(need))]
    url = properties.get("stackTemplateAssetObjectUrl")
    return AssemblyStack(
        name=properties.get("stackName", name),
        region=where["AWS::Region"],
        template=assembly / properties["templateFile"],
        template_url=_fill(url, where) if url else None,
        parameters=properties.get("parameters", {}),
        tags=properties.get("tags", {}),
        termination_protection=properties.get("terminationProtection", False),
        assets=tuple(asset for item in manifests for asset in _assets(assembly, item["properties"]["file"], where)),
    )


def _is_asset_manifest(artifact: dict[str, Any] | None) -> bool:
    return artifact is not None and artifact["type"] == "cdk:asset-manifest"


def _assets(assembly: Path, file: str, where: Mapping[str, str]) -> Iterator[FileAsset]:
    manifest = json.loads((assembly / file).read_text(encoding="utf-8"))
    if manifest.get("dockerImages"):
        raise ValueError(f"{file} has container images; the AWS emulator has no registry to push them to")
    for entry in manifest.get("files", {}).values():
        if "path" not in entry["source"]:
            raise ValueError(f"{file} has an asset that a command creates; only files and directories are uploaded")
        for destination in entry["destinations"].values():
            yield FileAsset(
                path=assembly / entry["source"]["path"],
                zipped=entry["source"].get("packaging") == "zip",
                bucket=_fill(destination["bucketName"], where),
                key=_fill(destination["objectKey"], where),
                region=_fill(destination.get("region", where["AWS::Region"]), where),
            )


def _fill(text: str, where: Mapping[str, str]) -> str:
    for name, value in where.items():
        text = text.replace(f"${{{name}}}", value)
    return text
