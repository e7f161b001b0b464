"""One description of each thing: the construct's argument, the mapping of the fleet file, what the rules read."""
