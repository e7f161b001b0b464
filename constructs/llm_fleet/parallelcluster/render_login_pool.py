"""A login pool in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.parallelcluster.hooks import Hooks
from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.parallelcluster.node_hooks import NodeHooks
from llm_fleet.parallelcluster.node_policies import NodePolicies
from llm_fleet.parallelcluster.render_parts import (
    render_dcv,
    render_image,
    render_policies,
    render_script,
    render_security_groups,
    render_ssh,
)
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool


def render_login_pool(pool: LoginPool, head: HeadNode, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return one of `LoginNodes/Pools`; without a subnet of its own it is in the head node's."""
    subnet_id = pool.subnet_id or head.subnet_id
    actions = hooks.login_pools.get(pool.name, NodeHooks())
    rendered = {
        "Name": pool.name,
        "InstanceType": str(pool.instance_type),
        "Count": pool.count,
        "GracetimePeriod": pool.gracetime_minutes,
        "Networking": pruned(
            {
                "SubnetIds": [subnet_id] if subnet_id is not None else None,
                **render_security_groups(pool.security_group_ids, pool.overrides),
            }
        ),
        "Ssh": render_ssh(pool.allowed_ips),
        "Dcv": render_dcv(pool.dcv),
        "CustomActions": pruned(
            {
                "OnNodeConfigured": render_script(actions.on_node_configured),
                "OnNodeUpdated": render_script(actions.on_node_updated),
            }
        ),
        "Iam": render_policies(policies.login_pools.get(pool.name, ()), pool.overrides),
        "Image": render_image(pool.image_id),
    }
    return merged(pruned(rendered), pool.overrides)
