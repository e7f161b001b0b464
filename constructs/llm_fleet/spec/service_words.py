"""What to write for the words that people bring to an inference service from elsewhere."""

from collections.abc import Mapping

OF_SERVICE: Mapping[str, str] = {
    "instance_type": "write `instance`",
    "type": "write `instance`",
    "replicas": "write `count`",
    "desired": "write `count`",
    "desired_count": "write `count`",
    "tasks": "write `count`",
    "instances": "write `count`: a task has an instance to itself",
    "min_count": "write `min`",
    "minimum": "write `min`",
    "max_count": "write `max`",
    "maximum": "write `max`",
    "image": "write it below `server`: `server: {kind: tgi, image: …}`",
    "kind": "write `server`",
    "framework": "write `server`",
    "model_id": "write `model`",
    "model_uri": "write `model`",
    "tensor_parallel": "write it below `server`: `server: {kind: tgi, tensor_parallel: 2}`",
    "batch_size": "write it below `server`: `server: {kind: tgi, batch_size: 4}`",
    "sequence_length": "write it below `server`: `server: {kind: tgi, sequence_length: 4096}`",
    "certificate": "write it below `front`: `front: {certificate: arn:aws:acm:…}`",
    "public": "write it below `front`: `front: {public: true, allowed_from: [203.0.113.0/24]}`",
    "auth": "write it below `front`: `front: {auth: api-key}`",
    "load_balancer": "write `front`",
    "alb": "write `front`",
    "capacity": "write it below `hosts`: `hosts: {capacity: managed-instances}`",
    "autoscaling": "write `max`, and `scaling` for what it goes by",
    "port": "leave it out: the front listens at 443, or at 80 with `front: {http: true}`",
    "queue": "write it below `scaling`: `scaling: {queue: 4}`",
    "name": "write the name as the service's key, in front of its colon",
}
"""Below a service."""

OF_MODEL: Mapping[str, str] = {
    "uri": "write `s3`",
    "path": "write `s3`, or `image` for a folder of the container image",
    "id": "write `hub`",
    "model_id": "write `hub`",
    "repo": "write `hub`",
    "token": "write `token_secret`, the ARN of a secret; a token is never text of a file",
    "hf_token": "write `token_secret`, the ARN of a secret; a token is never text of a file",
    "served_model_name": "write `name`",
    "precompiled": "write `compiled`",
    "exported": "write `compiled`",
}
"""Below `model`."""

OF_SERVER: Mapping[str, str] = {
    "tp": "write `tensor_parallel`",
    "tensor_parallel_size": "write `tensor_parallel`",
    "num_cores": "write `tensor_parallel`",
    "HF_NUM_CORES": "write `tensor_parallel`",
    "batch": "write `batch_size`",
    "sequence": "write `sequence_length`",
    "max_batch_size": "write `batch_size`",
    "MAX_BATCH_SIZE": "write `batch_size`",
    "max_num_seqs": "write `batch_size`",
    "max_total_tokens": "write `sequence_length`",
    "MAX_TOTAL_TOKENS": "write `sequence_length`",
    "max_model_len": "write `sequence_length`",
    "model": "write `model` of the service, beside `server`",
    "version": "write `image`, and `runtime` where the catalog does not know it",
    "api_key": "write `front: {auth: api-key}` of the service; the key is a secret, never text of a file",
    "port": "leave it out: every server listens at 8080 in an interface of its own",
    "env": "write `environment`",
    "variables": "write `environment`",
    "cap_add": "write `capabilities`",
}
"""Below `server`."""

OF_HOSTS: Mapping[str, str] = {
    "type": "write `instance` of the service, beside `hosts`",
    "instance_type": "write `instance` of the service, beside `hosts`",
    "count": "write `count` of the service: a task has an instance to itself",
    "managed": "write `capacity: managed-instances`",
    "kind": "write `capacity`",
    "asg": "write `capacity: ec2`",
    "fargate": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
    "FARGATE": "Fargate has no Neuron devices; write `ec2` or `managed-instances`",
    "root_volume": "write `volume`",
    "disk": "write `volume`",
    "image": "write `ami`; the server's container image is `image` of `server`",
    "driver_version": "write `driver`",
}
"""Below `hosts`."""

OF_FRONT: Mapping[str, str] = {
    "cert": "write `certificate`, the ARN of a certificate in ACM",
    "https": "write `certificate`, the ARN of a certificate in ACM",
    "tls": "write `certificate`, the ARN of a certificate in ACM",
    "internet_facing": "write `public: true` and `allowed_from`",
    "scheme": "write `public: true` and `allowed_from`, or leave it private",
    "cidrs": "write `allowed_from`",
    "allowed_cidrs": "write `allowed_from`",
    "allow": "write `allowed_from`",
    "apikey": "write `auth: api-key`",
    "api_key": "write `auth: api-key`, and `api_key_secret` for a secret that exists",
    "authentication": "write `auth`",
    "idle_timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "timeout": "write `longest_answer`: idle timeout, draining and stop timeout follow from it",
    "oidc": "write `auth: jwt`: OIDC of a load balancer sends browsers to a page; clients of an API follow none",
    "cognito": "write `auth: jwt`, with the user pool as its issuer",
}
"""Below `front`."""

OF_JWT: Mapping[str, str] = {
    "jwks_uri": "write `jwks`",
    "jwks_url": "write `jwks`",
    "audience": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "aud": "write `claims: [{name: aud, values: [<audience>], format: string-array}]`",
    "scope": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
    "scopes": "write `claims: [{name: scope, values: [<scope>], format: space-separated-values}]`",
}
"""Below `jwt`."""

OF_EXPORT: Mapping[str, str] = {
    "model": "write `source`, the checkpoint; it is written where `model` of the service says",
    "from": "write `source`",
    "hub": "write `source: <owner>/<name>`",
    "s3": "write `source: s3://…`",
    "instance_type": "write `instance`",
    "server": "leave it out: it is the server of the service, whose image and sizes are compiled for",
}
"""Below `export`."""
