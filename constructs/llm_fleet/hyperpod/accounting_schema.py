"""The schema of an external accounting database, told to HyperPod and to the nodes alike."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.hyperpod.accounting_database import AccountingDatabase


def schema_of(scope: Construct, database: AccountingDatabase) -> str:
    """Return the schema in `database`; unless told, one named by the first block of the stack's GUID.

    CloudFormation's default is one name for all clusters, and slurmdbd refuses a schema with another cluster's id.
    """
    if database.database_name is not None:
        return database.database_name
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Stack.of(scope).stack_id))
    return f"slurm_acct_db_{cdk.Fn.select(0, cdk.Fn.split('-', guid))}"
