"""Values of the wrong class in what an endpoint is made of: types forbid them, but not everybody has a checker."""

from typing import Any

from llm_fleet.rules.inference.forms import Form, check_attributes
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointImageKind, EndpointModelSource


def _text(remedy: str) -> Form:
    return Form(wanted="a text", types=(str,), optional=True, remedy=remedy)


_MODEL = {
    "source": Form(
        wanted="a source of models",
        types=(EndpointModelSource,),
        remedy='write EndpointModel.from_hub("owner/name"), or another place',
    ),
    "location": Form(wanted="a text", types=(str,), remedy='write the place as text, e.g. "s3://my-models/gpt-j/"'),
    "revision": _text("write a branch, a tag or a commit in quotes"),
    "task": _text('write the task in quotes, e.g. "text-classification"'),
    "key_arn": _text("write the ARN of the key: key.key_arn"),
}
_IMAGE = {
    "kind": Form(
        wanted="a kind of image",
        types=(EndpointImageKind,),
        optional=True,
        remedy="write EndpointImage.vllm(), .tgi() or .hugging_face()",
    ),
    "version": _text('write the version in quotes, e.g. "5.5.3"'),
    "uri": _text("write the image's URI in quotes"),
    "cuda": _text('write the version of CUDA in quotes, e.g. "12.4"'),
}


def check_model_forms(model: Any) -> list[Problem]:
    """Return a problem for each attribute of an endpoint's model that is of another class."""
    return check_attributes(model, _MODEL)


def check_image_forms(image: Any) -> list[Problem]:
    """Return a problem for each attribute of an endpoint's image that is of another class."""
    return check_attributes(image, _IMAGE)
