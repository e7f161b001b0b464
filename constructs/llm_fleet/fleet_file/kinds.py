"""Which of several kinds a mapping is that does not say it rightly."""

from collections.abc import Collection, Mapping

from llm_fleet.rules.values import nearest

KIND = "kind"

_TELLING = {
    "queues": "parallelcluster",
    "head": "parallelcluster",
    "image": "container",
    "version": "smp",
    "program": "conda",
    "packages": "wheels",
    "groups": "hyperpod",
}
"""By a key that only one kind has."""

_OTHER_WORDS = {
    "pcluster": "parallelcluster",
    "aws-parallelcluster": "parallelcluster",
    "pc": "parallelcluster",
    "sagemaker": "hyperpod",
    "sagemaker-hyperpod": "hyperpod",
    "text-generation-inference": "tgi",
    "tgi-neuron": "tgi",
    "neuronx-tgi": "tgi",
    "vllm": "hugging-face-vllm",
    "hf-vllm": "hugging-face-vllm",
    "huggingface-vllm": "hugging-face-vllm",
    "optimum-neuron": "hugging-face-vllm",
    "nxdi": "aws-vllm",
    "nxd-inference": "aws-vllm",
    "vllm-neuron": "aws-vllm-neuron",
    "venv": "wheels",
    "pip": "wheels",
    "docker": "container",
    "enroot": "container",
    "sqsh": "container",
    "nxd": "neuron",
    "neuronx": "neuron",
    "mamba": "conda",
}
"""What people write for a word that is another here."""


def likely_kind(mapping: Mapping[str, object], kinds: Collection[str]) -> str:
    """Return which of `kinds` a mapping without a right `kind` seems to be: by the word there, else by its keys."""
    written = str(mapping.get(KIND, ""))
    word = _OTHER_WORDS.get(written.casefold(), "")
    if word in kinds:
        return word
    told = (kind for key, kind in _TELLING.items() if key in mapping and kind in kinds)
    return nearest(written, kinds) or next(told, next(iter(kinds)))
