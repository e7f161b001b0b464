"""What of a watch is known only at synth: until then, jobs are followed."""

from collections.abc import Callable, Sequence
from typing import cast

import aws_cdk as cdk
import jsii
from constructs import Construct, IValidation

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.watch_followed import check_followed_something, check_pattern_size, check_settings_size
from llm_fleet.sagemaker.watch.watch_rules import job_pattern


def text_at_synth(text: Callable[[], str]) -> str:
    """Return a token for what `text` returns at synth."""
    return cdk.Lazy.string(cast(cdk.IStableStringProducer, _Text(text)))


def validate_at_synth(
    watch: Construct, *, prefixes: Callable[[], Sequence[str]], settings: Callable[[], str], clusters: bool
) -> None:
    """Let synth fail when `watch` watches nothing, or more than a function or a rule can be told."""

    def problems() -> list[Problem]:
        watched = prefixes()
        pattern = cdk.Stack.of(watch).to_json_string(dict(job_pattern(watched)))
        return [
            *check_followed_something(jobs=bool(watched), clusters=clusters),
            *check_settings_size(len(settings())),
            *check_pattern_size(len(pattern)),
        ]

    watch.node.add_validation(cast(IValidation, _Validation(problems)))


@jsii.implements(cdk.IStableStringProducer)
class _Text:
    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def produce(self) -> str:
        """Return the text."""
        return self._text()


@jsii.implements(IValidation)
class _Validation:
    def __init__(self, problems: Callable[[], Sequence[Problem]]) -> None:
        self._problems = problems

    def validate(self) -> list[str]:
        """Return what is wrong, in the user's words."""
        return [str(problem) for problem in self._problems()]
