"""The name of a cluster's own schema in a database for Slurm's accounting.

slurmdbd refuses a schema that holds another cluster's id ("CLUSTER ID MISMATCH"), also that of a forerunner of the
same name, so each cluster has a schema of its own, and one made anew another than its forerunner.
"""

import re

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.rules.accounting import SCHEMA_PREFIX
from llm_fleet.rules.tokens import is_unresolved

_ADDRESS = 8
"""Characters of a construct's address, enough to tell clusters of one stack apart."""


def schema_of(scope: Construct, database: AccountingDatabase) -> str:
    """Return the schema in `database` of the HyperPod cluster at `scope`; unless told, one named by its stack's GUID.

    CloudFormation's default is one name for all clusters.
    """
    return database.database_name or f"{SCHEMA_PREFIX}{_stack_guid(scope)}"


def parallelcluster_schema(scope: Construct, cluster_name: str) -> str:
    """Return a schema for the ParallelCluster of that name, the one with the hash, made in the stack of `scope`.

    A cluster whose immutable settings change has another name, and one whose stack is made anew another GUID. Only
    one that is taken out of its stack and put back unchanged meets its own records.
    """
    name = scope.node.addr[-_ADDRESS:] if is_unresolved(cluster_name) else cluster_name.lower()
    return f"{SCHEMA_PREFIX}{re.sub('[^0-9a-z_]', '_', name)}_{_stack_guid(scope)}"


def _stack_guid(scope: Construct) -> str:
    """Return the first block of the GUID that the stack's ARN ends with: eight hexadecimal digits."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Stack.of(scope).stack_id))
    return cdk.Fn.select(0, cdk.Fn.split("-", guid))
