"""What load balancer and target group are told, from how long an answer may take."""

from llm_fleet.catalog.service import front_facts
from llm_fleet.rules.tokens import is_unresolved


def load_balancer_attributes(*, longest_answer_seconds: int, log_bucket: str, log_prefix: str) -> dict[str, str]:
    """Return the attributes of the load balancer.

    An answer that is not streamed is silence on the connection until it is whole, so the idle timeout is the longest
    answer. The load balancer's own 60 s remain the least: new connections cost more than idle ones.
    """
    facts = front_facts()
    idle = longest_answer_seconds
    if not is_unresolved(idle):
        idle = max(facts.idle_timeout_default_seconds, idle)
    return {
        "idle_timeout.timeout_seconds": str(idle),
        "client_keep_alive.seconds": str(facts.client_keep_alive_seconds),
        # Nothing in it is state, and a stack that cannot be deleted helps nobody.
        "deletion_protection.enabled": "false",
        "routing.http.drop_invalid_header_fields.enabled": "true",
        "routing.http.desync_mitigation_mode": "strictest",
        "routing.http2.enabled": "true",
        # A request that WAF cannot judge is refused.
        "waf.fail_open.enabled": "false",
        "access_logs.s3.enabled": "true",
        "access_logs.s3.bucket": log_bucket,
        "access_logs.s3.prefix": log_prefix,
        "connection_logs.s3.enabled": "true",
        "connection_logs.s3.bucket": log_bucket,
        "connection_logs.s3.prefix": log_prefix,
    }


def target_group_attributes(*, longest_answer_seconds: int) -> dict[str, str]:
    """Return the attributes of the target group.

    Answers take a second or minutes, so requests go where the fewest are under way. Slow start, of which that
    algorithm knows nothing, stays off: a server that has loaded its model is as fast as it will be.
    """
    return {
        "deregistration_delay.timeout_seconds": str(longest_answer_seconds),
        "load_balancing.algorithm.type": "least_outstanding_requests",
        "slow_start.duration_seconds": "0",
        "stickiness.enabled": "false",
    }
