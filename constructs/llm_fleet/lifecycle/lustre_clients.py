"""The EFA connections of one app's clusters to the Lustre file systems that they share."""

from collections.abc import Sequence

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.rules.lustre_efa import EfaClients, connections, why_efa_is_unused, why_too_many_connections

_MARK = "EFA clients of "
_CONTEXT = "llm-fleet:efa-connections"


def count_efa_clients(cluster: Construct, lustre: object, clients: Sequence[EfaClients]) -> None:
    """Note the connections of `clients` on `lustre`, a file system with EFA; warn where they are none or too many.

    The file system counts the clusters of this app, whichever stacks they are in.
    """
    elsewhere = 0
    if isinstance(lustre, Construct):
        claims = [child for child in lustre.node.children if child.node.id.startswith(_MARK)]
        elsewhere = sum(int(claim.node.try_get_context(_CONTEXT)) for claim in claims)
        claim = Construct(lustre, f"{_MARK}{cluster.node.path.replace('/', '.')}")
        claim.node.set_context(_CONTEXT, connections(clients))
    for kind, text in (
        ("unused", why_efa_is_unused(clients)),
        ("connections", why_too_many_connections(clients, elsewhere=elsewhere)),
    ):
        if text:
            cdk.Annotations.of(cluster).add_warning_v2(f"llm-fleet:lustre-efa-{kind}", text)
