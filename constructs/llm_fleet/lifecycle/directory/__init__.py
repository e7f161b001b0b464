"""A directory that knows people, as nodes ask it by SSSD and as ParallelCluster asks it by itself."""
