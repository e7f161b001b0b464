"""The head node in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.parallelcluster.hooks import Hooks
from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.parallelcluster.node_policies import NodePolicies
from llm_fleet.parallelcluster.render_parts import (
    render_dcv,
    render_image,
    render_local_storage,
    render_policies,
    render_script,
    render_security_groups,
    render_ssh,
)
from llm_fleet.rules.parallelcluster.terms import InternalStorage
from llm_fleet.spec.parallelcluster_nodes import HeadNode


def render_head_node(head: HeadNode, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return `HeadNode`."""
    on_efs = head.internal_storage is InternalStorage.EFS
    rendered = {
        "InstanceType": str(head.instance_type),
        "DisableSimultaneousMultithreading": not head.hyperthreading or None,
        "Networking": pruned(
            {
                "SubnetId": head.subnet_id,
                "ElasticIp": head.elastic_ip or None,
                **render_security_groups(head.security_group_ids, head.overrides),
            }
        ),
        "Ssh": render_ssh(head.allowed_ips, head.key_name),
        "LocalStorage": render_local_storage(head.root_volume, head.scratch_mount_dir),
        "SharedStorageType": head.internal_storage.value,
        "SharedStorageEfsSettings": {"Encrypted": True} if on_efs else None,
        "Dcv": render_dcv(head.dcv),
        "CustomActions": pruned(
            {
                "OnNodeConfigured": render_script(hooks.head_node.on_node_configured),
                "OnNodeUpdated": render_script(hooks.head_node.on_node_updated),
            }
        ),
        "Iam": render_policies(policies.head_node, head.overrides),
        "Imds": {"Secured": head.imds_secured},
        "Image": render_image(head.image_id),
    }
    return merged(pruned(rendered), head.overrides)
