"""What to write for the words that people bring from ParallelCluster's own configuration."""

from collections.abc import Mapping

_IMPORT = "`llm-fleet import` turns a whole ParallelCluster configuration into a fleet file"

OF_INSTANCES: Mapping[str, str] = {
    "Name": "write the name as the key, in front of its colon",
    "name": "write the name as the key, in front of its colon",
    "InstanceType": "write `type`",
    "Instances": "write `types`, a list of names",
    "MinCount": "write `min`",
    "MaxCount": "write `max`",
    "count": "write `max`, and `min` for what always runs",
    "Efa": "write `efa: true` or `efa: false`",
    "DisableSimultaneousMultithreading": "write `hyperthreading: false`",
    "SpotPrice": "write `spot_price`",
    "SchedulableMemory": "write `memory`, with its unit",
    "CapacityReservationTarget": "write `reservation`",
    "HealthChecks": "write `gpu_health_check`",
    "CustomSlurmSettings": "write `slurm`",
    "Networking": "write `placement`, and of a queue `az`, `subnets`, `security_groups`",
    "Tags": "write `tags: {key: value}`",
}
"""Below a queue or a compute resource."""

OF_QUEUE: Mapping[str, str] = {
    **OF_INSTANCES,
    "ComputeResources": "write `type`, `min` and `max`, or `resources` for several kinds of instances",
    "CapacityType": "write `capacity`",
    "AllocationStrategy": "write `allocation`",
    "JobExclusiveAllocation": "write `exclusive`",
    "ComputeSettings": "write `root_volume` and `scratch`",
    "CustomActions": "llm-fleet brings the scripts; write your own as `scripts: {own: …}` of the cluster",
    "Iam": "write `reads` and `writes` of the cluster",
    "Image": "write `image`",
    "capacity_block": "write `capacity: capacity-block`",
    "spot": "write `capacity: spot`",
}
"""Below a queue."""

OF_HEAD: Mapping[str, str] = {
    "InstanceType": "write `type`",
    "Networking": "write `subnet`, `elastic_ip` and `security_groups`",
    "Ssh": "write `key` and `allowed_from`",
    "LocalStorage": "write `root_volume` and `scratch`",
    "DisableSimultaneousMultithreading": "write `hyperthreading: false`",
    "SharedStorageType": "write `internal_storage`",
    "Image": "write `image`",
    "Imds": "write `imds_secured`",
    "Dcv": "write `dcv`",
    "Iam": "write `reads` and `writes` of the cluster",
    "CustomActions": "llm-fleet brings the scripts; write your own as `scripts: {own: …}` of the cluster",
}
"""Below the head node, and below a login pool."""

OF_CLUSTER: Mapping[str, str] = {
    "HeadNode": "write `head`",
    "head_node": "write `head`",
    "Scheduling": f"write `queues` and `slurm`; {_IMPORT}",
    "SlurmQueues": f"write `queues`, by name; {_IMPORT}",
    "SlurmSettings": "write `slurm`",
    "LoginNodes": "write `login`",
    "login_pools": "write `login`",
    "SharedStorage": "write `storage`, by name; the fleet's `fsx` and `home` are mounted anyhow",
    "Image": "write `os`, and `image` for an image of your own",
    "Region": "write `region` of the fleet",
    "Monitoring": "write `detailed_monitoring` and `logs`",
    "Tags": "write `tags: {key: value}`",
    "groups": "a ParallelCluster has `head`, `queues` and `login`; `groups` are HyperPod's",
    "controller": "write `head`",
    "workers": "write each as a queue under `queues`",
}
"""Below a cluster."""
