"""Models, endpoint configurations and endpoints: every field is kept, and the service's own rules apply.

moto supports 66 instance types of 259, drops a container's data source and a variant's AMI and timeouts, checks neither
role, model nor network, deletes resources in use, and lacks `UpdateEndpoint`. No instance boots and no model answers.

Source: model botocore sagemaker CreateEndpoint
Source: model botocore sagemaker UpdateEndpoint
"""

from collections.abc import Callable
from typing import Any

from moto.sagemaker.responses import SageMakerResponse

from llm_fleet_local.aws.resources.moto_fixes.endpoint_records import Endpoint, EndpointConfig, Model
from llm_fleet_local.aws.resources.moto_fixes.endpoint_rules import config_problems, model_problems
from llm_fleet_local.aws.resources.moto_fixes.json_api import Rejected, install_operation
from llm_fleet_local.aws.resources.moto_fixes.network_rules import NetworkOf

_INVALID = "ValidationException"
Handler = Callable[[Any, dict[str, Any]], dict[str, Any]]
_LINGERING: dict[tuple[str, str], list[str]] = {}
"""Network interfaces of deleted endpoints, by account and region."""
_linger = False


def install() -> None:
    """Replace moto's operations on the three; tags and variant weights are still moto's."""
    handlers: dict[str, Handler] = {
        "CreateModel": _create_model,
        "DescribeModel": lambda response, requested: _model(response, requested["ModelName"]).describe(),
        "DeleteModel": _delete_model,
        "ListModels": lambda response, requested: {"Models": _listed(_models(response), requested)},
        "CreateEndpointConfig": _create_config,
        "DescribeEndpointConfig": lambda response, requested: _config(
            response, requested["EndpointConfigName"]
        ).describe(),
        "DeleteEndpointConfig": _delete_config,
        "ListEndpointConfigs": lambda response, requested: {"EndpointConfigs": _listed(_configs(response), requested)},
        "CreateEndpoint": _create_endpoint,
        "UpdateEndpoint": _update_endpoint,
        "DescribeEndpoint": lambda response, requested: _endpoint(response, requested["EndpointName"]).describe(),
        "DeleteEndpoint": _delete_endpoint,
        "ListEndpoints": lambda response, requested: {"Endpoints": _listed(_endpoints(response), requested)},
    }
    for operation, handler in handlers.items():
        install_operation(SageMakerResponse, "sagemaker", operation, handler, invalid=_INVALID)


def let_interfaces_linger(wanted: bool) -> None:
    """Keep interfaces after their endpoints and notebooks are deleted, or (False) delete the remaining ones.

    Source: assumption sagemaker-interfaces-outlive-endpoints
    """
    global _linger
    _linger = wanted
    if not wanted:
        for (account, region), interfaces in _LINGERING.items():
            NetworkOf(account, region).detach(interfaces)
        _LINGERING.clear()


def _models(response: Any) -> dict[str, Model]:
    return response.sagemaker_backend._models


def _configs(response: Any) -> dict[str, EndpointConfig]:
    return response.sagemaker_backend.endpoint_configs


def _endpoints(response: Any) -> dict[str, Endpoint]:
    return response.sagemaker_backend.endpoints


def _listed(records: dict[str, Any], requested: dict[str, Any]) -> list[dict[str, Any]]:
    part = requested.get("NameContains", "")
    return [record.summary() for name, record in records.items() if part in name]


def _create_model(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    name, models = requested["ModelName"], _models(response)
    _reject_taken(models, name, "model", response)
    _reject(model_problems(requested, response.current_account, response.region))
    models[name] = Model(requested, response.region, response.current_account)
    return {"ModelArn": models[name].arn}


def _delete_model(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _model(response, requested["ModelName"])
    del _models(response)[found.name]
    return {}


def _create_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    name, configs = requested["EndpointConfigName"], _configs(response)
    _reject_taken(configs, name, "endpoint-config", response)
    for variant in requested["ProductionVariants"]:
        _model(response, variant.get("ModelName", ""))
    _reject(config_problems(requested))
    configs[name] = EndpointConfig(requested, response.region, response.current_account)
    return {"EndpointConfigArn": configs[name].arn}


def _delete_config(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    """Reject the deletion of a live endpoint's configuration; the API reference only says that one must not do so.

    Source: emulation, stricter than SageMaker so that a wrong order fails (model botocore sagemaker
    DeleteEndpointConfig)
    """
    found = _config(response, requested["EndpointConfigName"])
    users = [one.name for one in _endpoints(response).values() if one.endpoint_config_name == found.name]
    _reject([f"endpoint configuration {found.name} is in use by {', '.join(users)}"] if users else [])
    del _configs(response)[found.name]
    return {}


def _create_endpoint(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    name, endpoints = requested["EndpointName"], _endpoints(response)
    _reject_taken(endpoints, name, "endpoint", response)
    config = _config(response, requested["EndpointConfigName"])
    made = endpoints[name] = Endpoint(requested, response.region, response.current_account)
    made.run(config, _images(response, config))
    _attach_interfaces(response, made, config)
    return {"EndpointArn": made.arn}


def _update_endpoint(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found, config = _endpoint(response, requested["EndpointName"]), _config(response, requested["EndpointConfigName"])
    _reject([] if found.endpoint_status == "InService" else [f"Cannot update endpoint in {found.endpoint_status}"])
    counts = found.counts() if requested.get("RetainAllVariantProperties") else {}
    found.deploy_with(requested)
    found.run(config, _images(response, config), counts)
    _leave(response, found)
    _attach_interfaces(response, found, config)
    return {"EndpointArn": found.arn}


def _delete_endpoint(response: Any, requested: dict[str, Any]) -> dict[str, Any]:
    found = _endpoint(response, requested["EndpointName"])
    busy = found.endpoint_status in ("Creating", "Updating", "Deleting", "RollingBack", "SystemUpdating")
    _reject([f"Cannot delete endpoint in {found.endpoint_status}"] if busy else [])
    del _endpoints(response)[found.name]
    _leave(response, found)
    return {}


def _attach_interfaces(response: Any, endpoint: Endpoint, config: EndpointConfig) -> None:
    """Create a network interface for each instance in the subnets of its model.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/host-vpc.html (2026-07)
    """
    network, counts = NetworkOf(response.current_account, response.region), endpoint.counts()
    for variant in config.production_variants:
        vpc: dict[str, list[str]] = _model(response, variant["ModelName"]).requested.get("VpcConfig", {})
        for number in range(counts[variant["VariantName"]] if vpc else 0):
            subnet = vpc["Subnets"][number % len(vpc["Subnets"])]
            what = f"SageMaker endpoint {endpoint.name}"
            endpoint.interfaces.append(network.attach(subnet, vpc["SecurityGroupIds"], what))


def _leave(response: Any, endpoint: Endpoint) -> None:
    leave(response, endpoint.interfaces)
    endpoint.interfaces = []


def leave(response: Any, interfaces: list[str]) -> None:
    """Delete the interfaces of a deleted endpoint or notebook, or keep them as remaining ones."""
    place = (response.current_account, response.region)
    if _linger:
        _LINGERING.setdefault(place, []).extend(interfaces)
    else:
        NetworkOf(*place).detach(interfaces)


def _images(response: Any, config: EndpointConfig) -> dict[str, str]:
    """Return the container image of each model of a configuration."""
    names = [variant["ModelName"] for variant in config.production_variants]
    return {name: _model(response, name).requested["PrimaryContainer"]["Image"] for name in names}


def _model(response: Any, name: str) -> Model:
    return _found(_models(response), name, "model", response)


def _config(response: Any, name: str) -> EndpointConfig:
    return _found(_configs(response), name, "endpoint-config", response)


def _endpoint(response: Any, name: str) -> Endpoint:
    return _found(_endpoints(response), name, "endpoint", response)


def _found(records: dict[str, Any], name: str, kind: str, response: Any) -> Any:
    """Return a model, a configuration or an endpoint by its name, or raise the service's error.

    Source: recorded aws/amazon-sagemaker-examples#2339 and #2402, text of the error (2021-05-14)
    """
    if name not in records:
        raise Rejected(_INVALID, f"Could not find {_named(kind, name, response)}.")
    return records[name]


def _reject_taken(records: dict[str, Any], name: str, kind: str, response: Any) -> None:
    """Reject a name that exists already.

    Source: recorded astronomer/astronomer-providers#1055, text of the error for models (2023-05-07)
    Source: recorded awslabs/spot-tagging-bot-for-digital-assets#2, text for configurations (2020-09-21)
    Source: recorded ministryofjustice/modernisation-platform-environments#9383, text for endpoints (2025-01-17)
    """
    if name in records:
        raise Rejected(_INVALID, f"Cannot create already existing {_named(kind, name, response)}.")


def _named(kind: str, name: str, response: Any) -> str:
    """Return the name that SageMaker's errors use for a kind of resource."""
    arn = f"arn:aws:sagemaker:{response.region}:{response.current_account}:{kind}/{name}"
    return f'{kind.replace("-config", " configuration")} "{arn}"'


def _reject(problems: list[str]) -> None:
    """Reject the request for these errors; the caller names the source of each.

    Source: assumption service-error-texts
    """
    if problems:
        raise Rejected(_INVALID, "; ".join(problems))
