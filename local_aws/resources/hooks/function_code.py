"""Lambda functions: source text inside a template becomes the archive that Lambda makes of it."""

import io
import zipfile
from typing import Any

from local_aws.resource_provider import ResourceFailed
from local_aws.resources.situation import Situation

_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same source gives the same archive


def prepare(at: Situation, properties: dict[str, Any]) -> dict[str, Any]:
    """Zip `Code.ZipFile` as `index.py` or `index.js`, by the runtime."""
    code: dict[str, Any] = properties.get("Code", {})
    source = code.get("ZipFile")
    if not isinstance(source, str):
        return properties
    runtime = str(properties.get("Runtime", ""))
    if not runtime.startswith(("python", "nodejs")):
        raise ResourceFailed(f"{at.spec.type}: Code.ZipFile takes Python and Node.js runtimes only, not {runtime!r}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        name = "index.py" if runtime.startswith("python") else "index.js"
        archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), source)
    return properties | {"Code": {**code, "ZipFile": packed.getvalue()}}
