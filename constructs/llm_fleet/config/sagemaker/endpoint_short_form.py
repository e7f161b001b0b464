"""What a user may write of an endpoint in short, written out: `model: s3://…`, `image: vllm`."""

from typing import Any, cast

from llm_fleet.config.sagemaker.endpoint_operations_short_form import endpoint_operations_in_long_form
from llm_fleet.rules.sagemaker.endpoint_model import TARBALL_ENDING
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind


def endpoint_in_long_form(endpoint: Any) -> Any:
    """Return `endpoint` with each short form written out; what is of another form stays as it is."""
    if not isinstance(endpoint, dict):
        return endpoint
    written = cast("dict[str, Any]", endpoint_operations_in_long_form(endpoint))
    readers = {"model": _model, "image": _image}
    return {key: readers[key](value) if key in readers else value for key, value in written.items()}


def _model(written: Any) -> Any:
    """An address is of S3, an archive by its ending, and what is left is an id of the Hub."""
    if not isinstance(written, str):
        return written
    if "://" not in written:
        return {"hub": written}
    return {"tarball" if written.endswith(TARBALL_ENDING) else "s3": written}


def _image(written: Any) -> Any:
    """A word is a kind, and what has a slash is an image's URI."""
    if not isinstance(written, str):
        return written
    known = [kind.value for kind in EndpointImageKind]
    return {"uri": written} if "/" in written and written not in known else {"kind": written}
