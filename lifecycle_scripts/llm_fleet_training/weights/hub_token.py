"""The token that is shown to the Hub. It is never an argument, and never in a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights import aws

SECRET_VARIABLE = "LLM_FLEET_HUB_TOKEN_SECRET"  # noqa: S105 - holds the secret's ARN
_OWN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def hub_token(file: Optional[Path]) -> Optional[str]:
    """The token of `HF_TOKEN`, of a file, or of the cluster's secret, in this order; None where there is none.

    Then huggingface_hub looks for a login of its own. LFJ30 when the file or secret that is named cannot be read.
    """
    for name in _OWN_VARIABLES:
        if os.environ.get(name, "").strip():
            return _checked(os.environ[name], name)
    if file is not None:
        try:
            return _checked(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            fail(Code.TOKEN, f"the token's file {file} cannot be read: {error}")
    arn = os.environ.get(SECRET_VARIABLE, "").strip()
    return _checked(aws.secret(arn), arn) if arn else None


def _checked(text: str, origin: str) -> str:
    token = text.strip()
    if not token or any(sign.isspace() for sign in token) or token.startswith("{"):
        fail(Code.TOKEN, f"{origin} holds no token: one word that begins with hf_ and nothing else is")
    return token
