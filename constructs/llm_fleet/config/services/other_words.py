"""What to write for the words that people bring to a service from elsewhere."""

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
