"""Public parameters of the ECS Neuron AMIs: moto's list of 2023 is older than those for Amazon Linux 2023.

An AMI's id is derived from its parameter's name, so it is always the same; the AMI counts as existing, as all of AWS's
images do. Names are from the ECS developer guide; `recommended` is its newest release, which is not necessarily a real
image.

Source: assumption ecs-neuron-ami-parameter-by-release
"""

import hashlib
import json
import re
from typing import Any

from moto.core.utils import utcnow
from moto.ssm.models import Parameter, ParameterDict

from llm_fleet_local.aws.resources.moto_fixes.kept_members import once

_PREFIX = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/"
_RELEASE = re.compile(r"(?:recommended|al2023-ami-ecs-neuron-hvm-2023\.0\.\d{8}-kernel-6\.\d+-x86_64)(/image_id)?")


def install() -> None:
    """Add the parameters."""
    if not once(ParameterDict, "neuron"):
        return
    ParameterDict._check_loading_status = _with_neuron(ParameterDict._check_loading_status)  # pyright: ignore[reportPrivateUsage]


def _with_neuron(as_moto_does: Any) -> Any:
    def _check_loading_status(self: Any, key: str) -> None:
        as_moto_does(self, key)
        name = str(key or "")
        plain: Any = super(ParameterDict, self)  # a query of `self` would recurse
        found = _RELEASE.fullmatch(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
        if found and not plain.__contains__(name):
            image = image_id(found[0].removesuffix("/image_id"), self.region_name)
            text = image if found[1] else json.dumps({"image_id": image, "os": "Amazon Linux 2023"})
            plain.setdefault(name, []).append(_parameter(self, name, text))

    return _check_loading_status


def image_id(release: str, region: str) -> str:
    """Return the AMI id of a release in a region."""
    return f"ami-0{hashlib.sha256(f'{region} {release}'.encode()).hexdigest()[:16]}"


def _parameter(self: Any, name: str, text: str) -> Any:
    return Parameter(
        account_id=self.account_id,
        name=name,
        value=text,
        parameter_type="String",
        description=None,
        allowed_pattern=None,
        keyid=None,
        last_modified_date=utcnow().timestamp(),
        version=1,
        data_type="text",
    )
