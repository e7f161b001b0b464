"""The public parameters of the ECS Neuron images, which moto's list of 2023 has not: Amazon Linux 2023 came later.

An image's id is worked out from its parameter's name, so that it is the same each time; the image counts as there, as
all of AWS's images do. Names are those that the ECS developer guide gives; `recommended` means its newest release
here, and for no real image.

Source: assumption ecs-neuron-ami-parameter-by-release
"""

import hashlib
import json
import re
from typing import Any

from moto.core.utils import utcnow
from moto.ssm.models import Parameter, ParameterDict

from local.aws.resources.moto_fixes.kept_members import once

_PREFIX = "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/"
_RELEASE = re.compile(r"(?:recommended|al2023-ami-ecs-neuron-hvm-2023\.0\.\d{8}-kernel-6\.\d+-x86_64)(/image_id)?")


def install() -> None:
    """Let the parameters be there."""
    if not once(ParameterDict, "neuron"):
        return
    ParameterDict._check_loading_status = _with_neuron(ParameterDict._check_loading_status)  # pyright: ignore[reportPrivateUsage]


def _with_neuron(as_moto_does: Any) -> Any:
    def _check_loading_status(self: Any, key: str) -> None:
        as_moto_does(self, key)
        name = str(key or "")
        plain: Any = super(ParameterDict, self)  # a query to itself would recurse
        found = _RELEASE.fullmatch(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
        if found and not plain.__contains__(name):
            image = image_id(found[0].removesuffix("/image_id"), self.region_name)
            text = image if found[1] else json.dumps({"image_id": image, "os": "Amazon Linux 2023"})
            plain.setdefault(name, []).append(_parameter(self, name, text))

    return _check_loading_status


def image_id(release: str, region: str) -> str:
    """Return the id that represents a release's image in a region."""
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
