"""What a node has for the jobs that train on it: programs, environments, settings, the cache of compiled graphs."""
