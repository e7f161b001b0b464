"""What a database server is told for slurmdbd's sake."""

from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.rules.slurm_database import SlurmDatabaseSettings


def database_parameters(settings: SlurmDatabaseSettings, *, require_tls: bool) -> dict[str, str]:
    """Return the server parameters of `settings`.

    The lock wait is Slurm's own demand: at the end of a month slurmdbd rolls records up for minutes, and shorter waits
    lose records. The buffer pool is RDS's default, most of the memory, and on Aurora Serverless v2 it follows the
    capacity; a number of ours would only be smaller.
    """
    facts = slurm_database_facts()
    # ParallelCluster's slurmdbd connects with TLS. HyperPod's: assumption: hyperpod-slurmdbd-connects-with-tls
    parameters = {
        "innodb_lock_wait_timeout": str(facts.lock_wait_seconds),
        "max_allowed_packet": str(facts.max_allowed_packet_bytes),
        "require_secure_transport": _switch(settings, on=require_tls),
        "slow_query_log": "1",
    }
    if settings.serverless:
        # Who signed in; statements would hold names of jobs and people.
        return parameters | {"server_audit_logging": "1", "server_audit_events": "CONNECT"}
    return parameters | {"log_output": "FILE"}  # only files reach CloudWatch


def _switch(settings: SlurmDatabaseSettings, *, on: bool) -> str:
    if settings.serverless:
        return "ON" if on else "OFF"
    return "1" if on else "0"
