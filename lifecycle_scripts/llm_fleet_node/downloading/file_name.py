"""What a pinned file is called, on the node and in the mirror."""

from __future__ import annotations

from llm_fleet_node.manifest_parts import Download


def file_name(file: Download) -> str:
    """Return the last part of the file's URL, e.g. `aws-neuronx-tools_2.28.23.0_amd64.deb`; percent signs stay.

    The mirror has it as `<sha256>/<name>`. Package managers go by the ending, pip by the whole name.
    """
    return file.url.split("?")[0].split("#")[0].rstrip("/").rsplit("/", 1)[-1]
