"""The former home of `AccountingDatabase`, which ParallelCluster has a use for too."""

from llm_fleet.accounting.accounting_database import AccountingDatabase as AccountingDatabase
