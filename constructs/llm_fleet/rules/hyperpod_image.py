"""The image that the nodes of a HyperPod group start from."""

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup

DEFAULT_IMAGE = "default"


def check_image(group: InstanceGroup) -> list[Problem]:
    """Check the image's id, the release of HyperPod's own image, and that only one of them is chosen."""
    problems = [*_check_image_id(group.image_id), *_check_release(group.image_release_version)]
    if group.image_id in (None, DEFAULT_IMAGE) or group.image_release_version is None:
        return problems
    return [
        *problems,
        Problem(
            code=Code.IMAGE_RELEASE,
            message="a release is one of HyperPod's own image, and the group has another image",
            remedy="drop the release, or the image",
            path=("image_release_version",),
            value=group.image_release_version,
        ),
    ]


def _check_image_id(image_id: str | None) -> list[Problem]:
    limit = group_limit("ImageId")
    if image_id is None or is_unresolved(image_id) or (limit.matches(image_id) and limit.holds(len(image_id))):
        return []
    return [
        Problem(
            code=Code.IMAGE_ID,
            message="a custom image is named by its AMI id, and this is none",
            remedy="write 'ami-' and 8 or 17 hexadecimal digits, of an image built on HyperPod's; "
            f"{DEFAULT_IMAGE!r} or nothing for HyperPod's own",
            path=("image_id",),
            value=image_id,
            allowed=f"ami-<hexadecimal digits>, or {DEFAULT_IMAGE}",
        )
    ]


def _check_release(version: str | None) -> list[Problem]:
    limit = group_limit("ImageReleaseVersion")
    if version is None or is_unresolved(version) or (limit.matches(version) and limit.holds(len(version))):
        return []
    return [
        Problem(
            code=Code.IMAGE_RELEASE,
            message="a release of HyperPod's image is three numbers with dots between",
            remedy="write it as in '1.2.3', or drop it for the newest",
            path=("image_release_version",),
            value=version,
            allowed="<major>.<minor>.<patch>",
        )
    ]
