"""What a pinned file is called, on the node and in the mirror."""

from __future__ import annotations

from llm_fleet_node.manifest_parts import Download


def file_name(file: Download) -> str:
    """Return the last part of the file's URL, e.g. `aws-neuronx-tools_2.28.23.0_amd64.deb`, without percent signs.

    The mirror has it as `<sha256>/<name>`. Package managers go by the ending, pip by the whole name; apt would take
    `%2b` in a path for a plus sign.
    """
    from urllib.parse import unquote

    name = file.url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
    return unquote(name).replace("/", "_")
