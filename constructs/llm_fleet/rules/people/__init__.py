"""Who works on clusters: ids, directories, limits, and the user of a session."""
