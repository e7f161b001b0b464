"""The codes of what happens before, beside and after a deployment: the account, the command, a cluster that runs."""
