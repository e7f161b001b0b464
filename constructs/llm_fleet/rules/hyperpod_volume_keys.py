"""KMS keys of a HyperPod group's volumes."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.instance_group import InstanceGroup


def check_volume_keys(group: InstanceGroup, *, continuous: bool) -> list[Problem]:
    """Check that a key has a volume, and provisioning that takes keys."""
    problems: list[Problem] = []
    if group.ebs_volume_key is not None and group.ebs_volume_gib is None:
        problems.append(
            Problem(
                code=Code.CLUSTER_VOLUME_KEY,
                message="a key is given for a second volume that the group does not have",
                remedy="give the second volume a size, or take the key of the root volume to encrypt that one",
                path=("ebs_volume_key",),
            )
        )
    for name, key in (("ebs_volume_key", group.ebs_volume_key), ("root_volume_key", group.root_volume_key)):
        if key is not None and not continuous:
            problems.append(
                Problem(
                    code=Code.CLUSTER_KEY_NOT_CONTINUOUS,
                    message="HyperPod encrypts volumes with a key of yours only under Continuous provisioning",
                    remedy="leave provisioning at its default, or leave the key out",
                    path=(name,),
                )
            )
    return problems
