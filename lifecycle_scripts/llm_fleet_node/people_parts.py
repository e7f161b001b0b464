"""The parts of `fleet.json` about people: Slurm's accounts and the directory. Made by `llm_fleet/lifecycle`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class SlurmAccount:
    """An account with its place in the tree and its limits, in sacctmgr's words."""

    name: str
    parent: str
    counts: tuple[tuple[str, Optional[int]], ...]
    """Options with their number, e.g. `("MaxJobs", 8)`; `None` for no limit."""
    resources: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """Options with a number for each resource, e.g. `("GrpTRES", (("node", 16),))`."""


@dataclass(frozen=True)
class SlurmAccounts:
    """All accounts, each behind the one above it."""

    image_account: str
    """Where the image's own user goes."""
    enforce: tuple[str, ...]
    """What `AccountingStorageEnforce` must say."""
    counted: tuple[str, ...]
    """What Slurm must be told to count."""
    tree: tuple[SlurmAccount, ...]

    @classmethod
    def of(cls, given: Optional[dict[str, Any]]) -> Optional[SlurmAccounts]:
        """Return what the manifest says; `None` without it. The schema has made sure that the types agree."""
        if given is None:
            return None
        return cls(
            given["image_account"],
            tuple(given["enforce"]),
            tuple(given["counted"]),
            tuple(_account(account) for account in given["tree"]),
        )


@dataclass(frozen=True)
class Directory:
    """A directory that nodes ask by SSSD."""

    domain: str
    uris: tuple[str, ...]
    bind_dn: str
    bind_secret_arn: str
    certificate_on_nodes: Optional[str]
    certificate_text: Optional[str]
    """One of both is there."""
    options: tuple[tuple[str, str], ...]
    """Further options of SSSD's domain."""
    user_filter: Optional[str]
    sudo_groups: tuple[str, ...]
    ssh_keys: bool
    """Whether sshd asks it for keys."""
    test_user: Optional[str]

    @classmethod
    def of(cls, given: Optional[dict[str, Any]]) -> Optional[Directory]:
        """Return what the manifest says; `None` without it. The schema has made sure that the types agree."""
        if given is None:
            return None
        made: dict[str, Any] = {**given, "uris": tuple(given["uris"]), "sudo_groups": tuple(given["sudo_groups"])}
        made["options"] = tuple((option["name"], option["value"]) for option in given["options"])
        return cls(**made)

    def option(self, name: str) -> str:
        """Return an option of SSSD's domain; empty where it has none."""
        return dict(self.options).get(name, "")


def _account(given: dict[str, Any]) -> SlurmAccount:
    return SlurmAccount(
        given["name"],
        given["parent"],
        tuple((count["option"], count["limit"]) for count in given["counts"]),
        tuple(
            (part["option"], tuple((limit["resource"], limit["limit"]) for limit in part["limits"]))
            for part in given["resources"]
        ),
    )
