"""People in the fleet file: Slurm's accounts, and directories."""
