"""Reads the token for the Hub. It is never an argument, and never in a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights import aws

SECRET_VARIABLE = "LLM_FLEET_HUB_TOKEN_SECRET"  # noqa: S105 - holds the secret's ARN
_OWN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def hub_token(file: Optional[Path]) -> Optional[str]:
    """The token from `HF_TOKEN`, a file, or the cluster's secret, in this order; None when there is none.

    With None, huggingface_hub looks for its stored login. LFJ30 when the file or secret cannot be read.
    """
    for name in _OWN_VARIABLES:
        if os.environ.get(name, "").strip():
            return _checked(os.environ[name], name)
    if file is not None:
        try:
            return _checked(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            fail(Code.HUB_TOKEN, f"token file {file} cannot be read: {error}")
    arn = os.environ.get(SECRET_VARIABLE, "").strip()
    return _checked(aws.secret(arn), arn) if arn else None


def _checked(text: str, origin: str) -> str:
    token = text.strip()
    if not token or any(sign.isspace() for sign in token) or token.startswith("{"):
        fail(Code.HUB_TOKEN, f"{origin} has no token: it must contain only one word that begins with hf_")
    return token
