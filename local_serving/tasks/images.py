"""Which stand-in stands for which image."""

from local_serving.template.problem import NotServable

_REPOSITORIES = {
    "huggingface-pytorch-tgi-inference": "tgi",
    "text-generation-inference": "tgi",
    "huggingface-vllm-inference-neuronx": "hugging-face-vllm",
    "optimum-neuron-vllm": "hugging-face-vllm",
    "pytorch-inference-vllm-neuronx": "aws-vllm",
}


def kind_of_image(image: str) -> str:
    """Return the kind of server in `image`, by its repository's name. Raises `NotServable`."""
    repository = image.rpartition("/")[2].partition(":")[0].partition("@")[0]
    if repository not in _REPOSITORIES:
        known = ", ".join(_REPOSITORIES)
        raise NotServable(f"there is no stand-in for image {image}; there is one for {known}")
    return _REPOSITORIES[repository]
