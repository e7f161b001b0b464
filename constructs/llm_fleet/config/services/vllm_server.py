"""What every vLLM in the fleet file can be told."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.config.services.server import ServerConfig


class VllmServerConfig(ServerConfig):
    """vLLM in any of its images."""

    chat_template: str | None = None
    """A chat template in the container, in place of the model's. Default: the model's."""
    tool_call_parser: str | None = None
    """Which parser finds calls of tools in answers, e.g. `llama3_json`. Default: none."""
    enable_auto_tool_choice: bool | None = None
    """Whether the model may choose to call a tool. Default: no."""
    trust_remote_code: bool | None = None
    """Whether Python code that lies beside the model is run. Default: no."""
    extra_arguments: tuple[str, ...] = ()
    """Further arguments of the server, each a list item, as they are. Default: none."""


class NxdVllmServerConfig(VllmServerConfig):
    """vLLM in AWS's images."""

    additional_config: Mapping[str, Any] = {}
    """vLLM's `--additional-config`, where Neuron's own options are. Default: none."""
