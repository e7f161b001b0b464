"""Every update policy of ParallelCluster by its name (aws-parallelcluster 3.16.1, config/update_policy.py)."""

from llm_fleet.rules.parallelcluster.update import fixed_policies as fixed
from llm_fleet.rules.parallelcluster.update import fleet_policies as fleet
from llm_fleet.rules.parallelcluster.update import login_policies as login
from llm_fleet.rules.parallelcluster.update import storage_policies as storage
from llm_fleet.rules.parallelcluster.update.placement_policy import MANAGED_PLACEMENT_GROUP
from llm_fleet.rules.parallelcluster.update.policy import Policy

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        fixed.SUPPORTED,
        fixed.IGNORED,
        fixed.SUPPORTED_UNLESS_ADC,
        fixed.EXTRA_CHEF_ATTRIBUTES,
        fixed.READ_ONLY_RESOURCE_BUCKET,
        fixed.UNSUPPORTED,
        fixed.UNKNOWN,
        fleet.QUEUE_UPDATE_STRATEGY,
        fleet.COMPUTE_FLEET_STOP,
        fleet.COMPUTE_FLEET_STOP_ON_REMOVE,
        fleet.RESIZE_UPDATE_STRATEGY_ON_REMOVE,
        MANAGED_PLACEMENT_GROUP,
        login.LOGIN_NODES_STOP,
        login.LOGIN_NODES_POOLS,
        login.LOGIN_NODES_POOL_STOP,
        login.COMPUTE_AND_LOGIN_NODES_STOP,
        storage.SHARED_STORAGE,
        storage.MANAGED_FSX,
    )
}
