"""Which tokens a step reads: every sample once per epoch, the same at any number of replicas."""

from pathlib import Path

import pytest

from tests.llm_fleet_training.runs import write_tokens


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 311, 1000])
def test_a_shuffle_contains_every_sample_once(count: int):
    from llm_fleet_training.samples.order import shuffled

    assert sorted(shuffled(place, count, "key") for place in range(count)) == list(range(count))


def test_each_epoch_and_seed_has_its_own_order():
    from llm_fleet_training.samples.order import sample_at

    first, second, other = (
        [sample_at(place, 100, seed) for place in range(start, start + 100)]
        for start, seed in ((0, 1), (100, 1), (0, 2))
    )
    assert sorted(first) == sorted(second) == sorted(other) == list(range(100))
    assert len({tuple(first), tuple(second), tuple(other), tuple(range(100))}) == 4
    assert first[:5] == [sample_at(place, 100, 1) for place in range(5)], "and no state is kept between calls"


@pytest.mark.parametrize(("replicas", "accumulation"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_a_step_reads_the_same_samples_at_any_number_of_replicas(replicas: int, accumulation: int):
    from llm_fleet_training.samples.order import places

    read = [
        place
        for replica in range(replicas)
        for row in places(step=3, accumulation=accumulation, replicas=replicas, replica=replica, micro_batch=2)
        for place in row
    ]
    assert sorted(read) == list(range(48, 64))


def test_a_sample_contains_its_tokens_and_the_next_one(tmp_path: Path):
    from llm_fleet_training.samples.tokens import Tokens, read_record

    tokens = Tokens(read_record(write_tokens(tmp_path, count=33)), 8)
    assert tokens.samples == 4
    assert len(tokens.sample(3)) == 9
    assert tokens.sample(0)[-1] == tokens.sample(1)[0]


def test_32_bit_tokens_are_read(tmp_path: Path):
    import json

    from llm_fleet_training.samples.tokens import Tokens, read_record

    (tmp_path / "tokens.bin").write_bytes(b"".join(n.to_bytes(4, "little") for n in (70000, 1, 128255)))
    record = {"file": "tokens.bin", "dtype": "uint32", "tokens": 3, "vocabulary": 128256, "sha256": ""}
    (tmp_path / "tokens.json").write_text(json.dumps(record))
    assert Tokens(read_record(tmp_path), 2).sample(0) == [70000, 1, 128255]


def test_the_learning_rate_goes_up_and_down():
    from llm_fleet_training.settings import Settings
    from llm_fleet_training.training.schedule import learning_rate

    settings = Settings(
        Path("run"), Path("model"), "cpu", 16, 4, 11, learning_rate=1.0, minimum_learning_rate=0.1, warmup_steps=4
    )
    rates = [learning_rate(step, settings) for step in range(11)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4] == 1.0
    assert rates[7] == pytest.approx(0.55)
    assert rates[10] == pytest.approx(0.1)
    assert rates[4:] == sorted(rates[4:], reverse=True)
