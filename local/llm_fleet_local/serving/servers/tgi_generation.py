"""How Text Generation Inference admits a request: permit, validation, batch.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from llm_fleet_local.serving.servers.batch import Batch, Timing
from llm_fleet_local.serving.servers.prometheus import Metrics
from llm_fleet_local.serving.servers.tgi_settings import TgiSettings
from llm_fleet_local.serving.servers.words import Answer, answer, tokenize

_STEP = 1024
"""Tokens that are generated at most before the request is checked again (DEFAULT_GENERATION_LENGTH)."""


class TgiError(Exception):
    """An error response of TGI."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        """Take the response's status, TGI's name of the error, and its text."""
        super().__init__(message)
        self.status = status
        self.error_type = error_type
        self.message = message


@dataclass(slots=True, kw_only=True)
class Generation:
    """One request that was taken in."""

    prompt_tokens: int
    answer: Answer
    timing: Timing = field(default_factory=Timing)

    @property
    def finish_reason(self) -> str:
        """OpenAI's `finish_reason`."""
        return "stop" if self.answer.ended else "length"


class TgiGenerator:
    """Admits requests, and generates."""

    def __init__(self, settings: TgiSettings, *, token_seconds: float) -> None:
        """The limits, and the seconds per token."""
        self._settings = settings
        self._batch = Batch(size=settings.max_batch_size, token_seconds=token_seconds)
        self._permits = settings.max_concurrent_requests
        self.metrics = Metrics()

    async def generate(self, prompt: str, question: str, limit: int | None) -> "Generation":
        """Return a whole generation. Raises `TgiError`."""
        generation = self.admit(prompt, question, limit)
        async for _ in self.tokens(generation):
            pass
        return generation

    def admit(self, prompt: str, question: str, limit: int | None) -> Generation:
        """Take a request in; its tokens must be fetched then. Raises `TgiError`: 429 when too many are in, 422.

        Source: code huggingface/text-generation-inference 3.3.6, router/src/infer/mod.rs generate_stream, and
        router/src/server.rs From<InferError>
        """
        if self._permits == 0:
            self.metrics.count("tgi_request_failure", 'err="overloaded"')
            raise TgiError(429, "overloaded", "Model is overloaded")
        prompt_tokens = len(tokenize(prompt))
        step = self._checked_step(prompt_tokens, limit)
        self._permits -= 1
        self.metrics.gauge("tgi_queue_size", lambda: self._batch.waiting)
        self.metrics.gauge("tgi_batch_current_size", lambda: self._batch.running)
        self.metrics.observe("tgi_request_input_length", prompt_tokens)
        self.metrics.observe("tgi_request_max_new_tokens", step)
        return Generation(prompt_tokens=prompt_tokens, answer=answer(question, self._most_tokens(prompt_tokens, limit)))

    async def tokens(self, generation: Generation) -> AsyncGenerator[str]:
        """Yield an admitted request's tokens as they come."""
        try:
            async for token in self._batch.generate(generation.answer.tokens, generation.timing):
                yield token
            self._record(generation)
        finally:
            self._permits += 1

    def _step(self, prompt_tokens: int, limit: int | None) -> int:
        room = max(self._settings.max_total_tokens - prompt_tokens, 0)
        return min(room if limit is None else limit, _STEP)

    def _checked_step(self, prompt_tokens: int, limit: int | None) -> int:
        """Return the tokens of the first step, the only one that must fit.

        Source: code huggingface/text-generation-inference 3.3.6, router/src/validation.rs validate and validate_input
        """
        total, longest = self._settings.max_total_tokens, self._settings.max_input_tokens
        step = self._step(prompt_tokens, limit)
        if limit == 0:
            raise self._invalid("`max_new_tokens` must be strictly positive")
        if prompt_tokens == 0:
            raise self._invalid("`inputs` cannot be empty")
        if prompt_tokens + step > total:
            raise self._invalid(
                f"`inputs` tokens + `max_new_tokens` must be <= {total}. "
                f"Given: {prompt_tokens} `inputs` tokens and {step} `max_new_tokens`"
            )
        if prompt_tokens > longest:
            raise self._invalid(f"`inputs` must have less than {longest} tokens. Given: {prompt_tokens}")
        return step

    def _most_tokens(self, prompt_tokens: int, limit: int | None) -> int:
        """Return the number of tokens of an answer without a stop token.

        After each step, the generated tokens belong to the prompt, and the request is checked again with its own limit:
        the answer ends when that check fails.

        Source: code huggingface/text-generation-inference 3.3.6, router/src/infer/mod.rs generate_stream
        """
        total, longest = self._settings.max_total_tokens, self._settings.max_input_tokens
        wanted = total - prompt_tokens if limit is None else limit
        made = self._step(prompt_tokens, limit)
        while made < wanted:
            prompt = prompt_tokens + made
            step = self._step(prompt, limit)
            if prompt > longest or prompt + step > total:
                break
            made += step
        return made

    def _invalid(self, message: str) -> TgiError:
        self.metrics.count("tgi_request_failure", 'err="validation"')
        return TgiError(422, "validation", f"Input validation error: {message}")

    def _record(self, generation: Generation) -> None:
        timing, metrics = generation.timing, self.metrics
        inference, produced = timing.ended - timing.started, len(generation.answer.tokens)
        metrics.count("tgi_request_success")
        metrics.observe("tgi_request_duration", timing.ended - timing.queued)
        metrics.observe("tgi_request_validation_duration", 0)
        metrics.observe("tgi_request_queue_duration", timing.started - timing.queued)
        metrics.observe("tgi_request_inference_duration", inference)
        for method, duration in (
            ("prefill", timing.first_token - timing.started),
            ("decode", timing.ended - timing.first_token),
        ):
            metrics.observe("tgi_batch_inference_duration", duration, f'method="{method}"')
        metrics.observe("tgi_request_mean_time_per_token_duration", inference / max(produced, 1))
        metrics.observe("tgi_request_generated_tokens", produced)
