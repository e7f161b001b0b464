"""The external database: user and password are from Secrets Manager."""

from __future__ import annotations

import json
from typing import Any, cast

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.manifest_parts import Accounting
from llm_fleet_node.node import Node
from llm_fleet_node.slurm.local_database import DATABASE
from llm_fleet_node.slurm.slurmdbd import Storage

_PORT = 3306
AUTHORITIES = "accounting-ca.pem"
"""File of the bundle with trusted certificate authorities, e.g. RDS's, which no distribution has."""
_OWN_AUTHORITIES = "/etc/llm-fleet/accounting-ca.pem"
_SYSTEM_AUTHORITIES = ("/etc/ssl/certs", "/etc/pki/tls/certs")


def storage_of(node: Node, accounting: Accounting) -> Storage:
    """Return the address and credentials of the database. Raises `Failure` if the secret cannot be read."""
    if not accounting.endpoint or not accounting.secret_arn:
        fail(Code.DATABASE, "the manifest has no endpoint or no secret for the accounting database", final=True)
    secret = _secret(node, accounting.secret_arn)
    return Storage(
        host=accounting.endpoint,
        port=accounting.port or _PORT,
        database=accounting.database or DATABASE,
        user=secret["username"],
        password=secret["password"],
        tls=_tls(node),
    )


def _secret(node: Node, arn: str) -> dict[str, str]:
    command = ("aws", "secretsmanager", "get-secret-value", "--secret-id", arn, "--query", "SecretString")
    try:
        reported = node.host.run(
            *command, "--output", "text", "--region", node.manifest.region, timeout=60, secret=True
        )
    except CommandFailed as error:
        fail(Code.DATABASE_SECRET, error.cause)
    try:
        secret: Any = json.loads(reported)
    except ValueError:
        secret = None
    if not isinstance(secret, dict):
        fail(Code.DATABASE_SECRET, f"{arn} is not a JSON object", final=True)
    found = cast("dict[str, Any]", secret)
    missing = [key for key in ("username", "password") if not isinstance(found.get(key), str) or not found[key]]
    if missing:
        fail(Code.DATABASE_SECRET, f"{arn} has no {' and no '.join(missing)}", final=True)
    return found


def _tls(node: Node) -> str:
    """Return the parameters with which slurmdbd uses TLS: with the bundle's authorities, otherwise the system's.

    Each of them enables encryption (tested with MariaDB and `REQUIRE SSL`). The client library decides whether the
    certificate is checked: MariaDB's before 3.4 accepts any.
    """
    own = node.places.bundle / AUTHORITIES
    if own.exists():
        node.host.write(_OWN_AUTHORITIES, own.read_text(encoding="ascii"))
        return f"SSL_CA={_OWN_AUTHORITIES}"
    folders = (name for name in _SYSTEM_AUTHORITIES if node.host.path(name).is_dir())
    return f"SSL_CAPATH={next(folders, _SYSTEM_AUTHORITIES[0])}"
