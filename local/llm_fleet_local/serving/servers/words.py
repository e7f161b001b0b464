"""Tokens and answers without a model: a token is a word or a sign, an answer depends only on the question.

Source: emulation, answers are made up
"""

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+$")
_COUNT = re.compile(r"count to (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is generated for one prompt."""

    tokens: tuple[str, ...]
    ended: bool
    """Whether it came to its end, rather than to the limit."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.tokens)


def tokenize(text: str) -> tuple[str, ...]:
    """Return the tokens of `text`; joined, they are `text` again."""
    return tuple(match[0] for match in _TOKEN.finditer(text))


def answer(question: str, limit: int) -> Answer:
    """Return at most `limit` tokens. `count to 50` in the question gives an answer of 50 tokens."""
    count = _COUNT.search(question)
    if count:
        whole = tuple(f" {number}" for number in range(1, int(count[1]) + 1))
    else:
        whole = tokenize(f"This is a stand-in without a model. You wrote: {question}")
    return Answer(tokens=whole[:limit], ended=len(whole) <= limit)
