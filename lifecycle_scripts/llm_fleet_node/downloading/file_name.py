"""The name of a pinned file, on the node and in the mirror."""

from __future__ import annotations

from llm_fleet_node.manifest_parts import Download


def file_name(file: Download) -> str:
    """Return the last part of the file's URL, e.g. `aws-neuronx-tools_2.28.23.0_amd64.deb`, without percent signs.

    In the mirror it is `<sha256>/<name>`. Package managers need the extension, pip the whole name; apt would decode
    `%2b` in a path to a plus sign.
    """
    from urllib.parse import unquote

    name = file.url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
    return unquote(name).replace("/", "_")
