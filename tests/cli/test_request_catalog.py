"""The catalog's shape of a create-cluster request is that of botocore's model."""

from typing import Any

import botocore.session

from llm_fleet.catalog.data_file import load


def shape_of(shape: Any) -> Any:
    if shape.type_name == "structure":
        return {name: shape_of(member) for name, member in shape.members.items()}
    if shape.type_name == "list":
        return [shape_of(shape.member)]
    if shape.type_name == "map":
        return {"*": shape_of(shape.value)}
    return shape.type_name


def test_request_shape_is_botocores() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    assert load("create_cluster_request") == shape_of(model.operation_model("CreateCluster").input_shape)
