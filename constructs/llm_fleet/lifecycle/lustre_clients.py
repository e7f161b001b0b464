"""What one app's clusters make of the EFA of the Lustre file systems that they share."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from constructs import Construct, IConstruct

from llm_fleet.rules.lustre_efa import EfaClients, connections, why_efa_is_unused, why_too_many_connections

_MARK = "EFA clients of "
_CONNECTIONS, _UNUSED = "llm-fleet:efa-connections", "llm-fleet:efa-unused"


def count_efa_clients(cluster: Construct, lustre: object, clients: Sequence[EfaClients]) -> None:
    """Note what `clients` make of `lustre`, a file system with EFA; warn where they open too many connections.

    Clusters of this app are added up, whichever stacks they are in. That no node of any of them can use EFA is known
    when the app is synthesized, and is a warning on the file system then.
    """
    elsewhere = 0
    if isinstance(lustre, Construct):
        claims = _claims(lustre)
        elsewhere = sum(int(claim.node.try_get_context(_CONNECTIONS)) for claim in claims)
        if not claims:
            cdk.Aspects.of(lustre).add(_UnusedEfa(lustre))
        claim = Construct(lustre, f"{_MARK}{cluster.node.path.replace('/', '.')}")
        claim.node.set_context(_CONNECTIONS, connections(clients))
        claim.node.set_context(_UNUSED, why_efa_is_unused(clients) or "")
    excess = why_too_many_connections(clients, elsewhere=elsewhere)
    if excess:
        cdk.Annotations.of(cluster).add_warning_v2("llm-fleet:lustre-efa-connections", excess)


@jsii.implements(cdk.IAspect)
class _UnusedEfa:
    """Warns where no cluster of the app can use the EFA of a file system."""

    def __init__(self, lustre: Construct) -> None:
        self._path = lustre.node.path

    def visit(self, node: IConstruct) -> None:
        """Look at the file system itself, once all its clusters are there."""
        if node.node.path != self._path:
            return
        told = [str(claim.node.try_get_context(_UNUSED) or "") for claim in _claims(node)]
        if all(told):
            cdk.Annotations.of(node).add_warning_v2("llm-fleet:lustre-efa-unused", "; ".join(told))


def _claims(lustre: IConstruct) -> list[IConstruct]:
    return [child for child in lustre.node.children if child.node.id.startswith(_MARK)]
