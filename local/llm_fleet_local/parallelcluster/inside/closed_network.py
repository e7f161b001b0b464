"""Blocks network access: dummy keys, no configuration files, unreachable proxies. Import this first."""

import os

REGION = "us-west-2"
_CLOSED = "http://127.0.0.1:9"


def close_network() -> None:
    """Set the environment before botocore reads it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        AWS_DEFAULT_REGION=REGION,
        AWS_ACCESS_KEY_ID="none",
        AWS_SECRET_ACCESS_KEY="none",  # noqa: S106 - no secret, but the lack of one
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        AWS_EC2_METADATA_DISABLED="true",
        AWS_MAX_ATTEMPTS="1",
        HTTP_PROXY=_CLOSED,
        HTTPS_PROXY=_CLOSED,
        http_proxy=_CLOSED,
        https_proxy=_CLOSED,
        NO_PROXY="",
        no_proxy="",
    )


close_network()
