"""Rules of a model: location, size, and compilation."""

from typing import Any

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.model_server import KnownModel, known_model
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_compiled, check_model, check_place
from llm_fleet.spec.model_server import ModelServer, ServerKind
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource, known_shape, shape_of_config
from tests.rules.inference.services import TOKEN, a_model, a_server, with_

S3, HUB, IMAGE = ModelSource.S3, ModelSource.HUB, ModelSource.IMAGE
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:hub-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    "model",
    [
        a_model(),
        a_model(location="s3://my-models"),
        a_model(location="s3://my-models/a/b-1.0/"),
        a_model(location=f"s3://{TOKEN}/tanuki-8b"),
        a_model(source=HUB, location="weblab-GENIAC/Tanuki-8B-dpo-v1.0", revision="a1b2c3", token_secret_arn=SECRET),
        a_model(source=HUB, location="gpt2", token_secret_arn=TOKEN, revision=TOKEN),
        a_model(source=IMAGE, location="/opt/models/tanuki"),
        a_model(served_name="tanuki-8b:latest"),
    ],
)
def test_valid_models_have_no_problems(model: Model):
    assert check_model(model) == []


@pytest.mark.parametrize(
    ("location", "remedy"),
    [
        ("https://my-models.s3.us-west-2.amazonaws.com/tanuki-8b/", "write `s3://my-models/tanuki-8b`"),
        ("https://s3.us-west-2.amazonaws.com/my-models/tanuki-8b", "write `s3://my-models/tanuki-8b`"),
        ("arn:aws:s3:::my-models/tanuki-8b/*", "write `s3://my-models/tanuki-8b`"),
        ("my-models/tanuki-8b", "write `s3://my-models/tanuki-8b` for a bucket of this name"),
        ("/opt/tanuki-8b", "write s3://bucket/prefix"),
        ("S3://my-models/tanuki-8b", "write s3://bucket/prefix"),
        ("s3:/my-models/tanuki-8b", "write s3://bucket/prefix"),
        ("", "write s3://bucket/prefix"),
    ],
)
def test_an_invalid_s3_uri_is_reported(location: str, remedy: str):
    (problem,) = check_model(a_model(location=location))
    assert (problem.code, problem.path, problem.value) == (Code.MODEL_PLACE, ("s3_uri",), location)
    assert "must be an s3:// URI" in problem.message
    assert problem.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("s3://My_Models/tanuki", "S3 rejects this bucket name"),
        ("s3:///tanuki", "S3 rejects this bucket name"),
        ("s3://my-models/a//b", "must not contain an empty part"),
        ("s3://my-models/*", "must not contain `*`, `?` or `$`"),
    ],
)
def test_an_s3_uri_that_s3_or_iam_interprets_differently_is_reported(location: str, message: str):
    (problem,) = check_model(a_model(location=location))
    assert problem.code is Code.MODEL_PLACE
    assert message in problem.message


@pytest.mark.parametrize("location", ["a/b/c", "https://huggingface.co/owner/name", "own er/name", "a/..b", "x/" * 60])
def test_an_invalid_hub_id_is_reported(location: str):
    (problem,) = check_model(a_model(source=HUB, location=location))
    assert (problem.code, problem.path) == (Code.MODEL_HUB_ID, ("hub_id",))


def test_the_address_of_a_hub_page_gets_a_suggestion():
    (problem,) = check_model(a_model(source=HUB, location="https://huggingface.co/owner/name/tree/main"))
    assert problem.remedy == "write `owner/name`"


@pytest.mark.parametrize("location", ["opt/model", "/", "/opt/../model", "s3://my-models/x"])
def test_an_invalid_path_in_the_image_is_reported(location: str):
    assert [problem.code for problem in check_model(a_model(source=IMAGE, location=location))] == [
        Code.MODEL_IMAGE_PATH
    ]


def test_a_revision_and_a_token_require_the_hub():
    found = check_model(a_model(revision="main", token_secret_arn=SECRET))
    assert [(problem.code, problem.path) for problem in found] == [
        (Code.MODEL_REVISION, ("revision",)),
        (Code.MODEL_TOKEN, ("token_secret_arn",)),
    ]
    assert [problem.code for problem in check_model(a_model(source=HUB, location="a/b", revision="-x"))] == [
        Code.MODEL_REVISION
    ]


def test_a_token_in_place_of_its_secret_is_never_repeated():
    (problem,) = check_model(a_model(source=HUB, location="a/b", token_secret_arn="hf_verysecret"))
    assert problem.code is Code.MODEL_TOKEN
    assert "hf_verysecret" not in str(problem)


@pytest.mark.parametrize("name", ["", "two words", "x" * 129, "-x"])
def test_an_invalid_served_name_is_reported(name: str):
    assert [problem.code for problem in check_model(a_model(served_name=name))] == [Code.MODEL_NAME]


def test_a_model_of_unknown_size_is_rejected_with_the_ways_to_set_it():
    (problem,) = check_model(a_model(location="s3://my-models/ours", shape=None))
    assert (problem.code, problem.path) == (Code.MODEL_SHAPE_UNKNOWN, ("shape",))
    assert "config.json" in problem.remedy
    assert "numbers" in problem.remedy


def test_impossible_numbers_are_reported_at_their_fields():
    good = ModelShape(parameters=8, layers=2, attention_heads=4, kv_heads=2, head_dim=8)
    (negative,) = check_model(a_model(shape=with_(good, layers=-1)))
    assert (negative.code, negative.path) == (Code.MODEL_SHAPE, ("shape", "layers"))
    (uneven,) = check_model(a_model(shape=with_(good, kv_heads=3)))
    assert (uneven.path, uneven.allowed) == (("shape", "kv_heads"), "a divisor of 4")


def test_invalid_keys_and_cache_sizes_are_reported():
    for model in (
        a_model(key_arn=KEY, cache_gib=0),
        a_model(key_arn=TOKEN),
        a_model("a/b", source=HUB, token_key_arn=KEY),
    ):
        assert check_place(model) == []
    wrong = [
        *check_place(a_model(key_arn="alias/models", cache_gib=-1)),
        *check_place(a_model("a/b", source=HUB, key_arn=KEY, cache_gib=5)),
    ]
    assert [(problem.code, problem.path) for problem in wrong] == [
        (Code.MODEL_KEY, ("key_arn",)),
        (Code.MODEL_CACHE, ("cache_gib",)),
    ] * 2
    assert [problem.path for problem in check_place(a_model(token_key_arn=KEY))] == [("token_key_arn",)]


def test_bucket_and_prefix_are_parsed():
    assert bucket_and_prefix("s3://b/a/c/") == ("b", "a/c")
    assert bucket_and_prefix("s3://b") == bucket_and_prefix("s3://b/") == ("b", "")


TANUKI: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65024,
    "tie_word_embeddings": False,
}


NAMED: list[tuple[str, str]] = [
    (name, facts["repository"]) for facts in load("model_shapes")["models"] for name in facts["names"]
]
KNOWN = {model.repository: model for name, _ in NAMED if (model := known_model(name)) is not None}
COUNTED = [model for model in KNOWN.values() if model.parameters is not None]


@pytest.mark.parametrize("model", COUNTED, ids=lambda model: model.repository)
def test_the_number_of_parameters_is_exactly_that_of_the_hub(model: KnownModel):
    shape, problems = shape_of_config(model.config)
    assert problems == []
    assert shape is not None
    assert shape.parameters == model.parameters


@pytest.mark.parametrize(
    ("location", "parameters"),
    [
        ("s3://my-models/tanuki-8b", 7_512_264_704),
        ("weblab-GENIAC/Tanuki-8B-dpo-v1.0", 7_512_264_704),
        ("s3://b/models/Llama-2-7b-chat-hf/", 6_738_415_616),
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
        ("EleutherAI/gpt-j-6b", 6_050_882_784),
    ],
)
def test_a_model_is_found_by_the_end_of_its_location(location: str, parameters: int):
    shape = known_shape(location)
    assert shape is not None
    assert shape.parameters == parameters


@pytest.mark.parametrize("location", ["s3://tanuki-8b/ours", "s3://b/llama", "s3://b/-hf", ""])
def test_an_unknown_name_has_no_shape(location: str):
    assert known_shape(location) is None


def test_each_name_finds_its_own_model():
    assert len(NAMED) == len(dict(NAMED)) >= 15
    for name, repository in NAMED:
        found = known_model(name)
        assert found is not None, name
        assert found.repository == repository, name


def test_by_default_there_are_as_many_kv_heads_as_query_heads():
    shape, _ = shape_of_config({**TANUKI, "num_key_value_heads": None})
    assert shape is not None
    assert (shape.attention_heads, shape.kv_heads, shape.head_dim) == (32, 32, 128)


def test_tied_embeddings_count_once_and_biases_count():
    plain, tied = (shape_of_config({**TANUKI, "tie_word_embeddings": each})[0] for each in (False, True))
    assert plain is not None
    assert tied is not None
    assert plain.parameters - tied.parameters == 65024 * 4096
    biased, _ = shape_of_config({**TANUKI, "attention_bias": True})
    assert biased is not None
    assert biased.parameters - plain.parameters == 32 * (4096 + 2 * 1024 + 4096)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "mamba"}, "cannot count the weights of model_type 'mamba'"),
        ({"model_type": None}, "cannot count the weights of model_type None"),
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"vocab_size": "65024"}, "vocab_size is '65024', but must be a number above 0"),
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"num_attention_heads": True}, "num_attention_heads is True"),
        ({"quantization_config": {"quant_method": "awq"}}, "the model is quantized"),
    ],
)
def test_a_config_without_sizes_is_reported(changed: dict[str, Any], message: str):
    shape, (problem,) = shape_of_config({**TANUKI, **changed})
    assert shape is None
    assert problem.code is Code.MODEL_CONFIG
    assert message in problem.message
    assert "sizes" in problem.remedy


PLAIN = a_model(compiled=False)
VLLM = ServerKind.HUGGING_FACE_VLLM


@pytest.mark.parametrize("source", [ModelSource.S3, ModelSource.IMAGE])
@pytest.mark.parametrize("kind", [ServerKind.TGI, VLLM])
def test_a_model_that_is_not_compiled_is_rejected_with_the_export_as_remedy(kind: ServerKind, source: ModelSource):
    (problem,) = check_compiled(a_server(kind=kind), a_model("x/y", source=source, compiled=False))
    assert (problem.code, problem.path) == (Code.MODEL_NOT_COMPILED, ("compiled",))
    assert "export it first" in problem.remedy
    assert ("allow_non_cached_model" in problem.remedy) is (kind is VLLM)


@pytest.mark.parametrize(
    ("server", "model"),
    [
        (a_server(), a_model()),
        (a_server(), a_model("x/y", source=ModelSource.HUB, compiled=False)),
        (a_server(kind=VLLM, settings={"allow_non_cached_model": True}), PLAIN),
        (a_server(kind=ServerKind.AWS_VLLM), PLAIN),
    ],
)
def test_other_models_pass(server: ModelServer, model: Model):
    assert check_compiled(server, model) == []
