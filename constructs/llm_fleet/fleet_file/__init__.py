"""Floor 2: the fleet file as typed models; the only place that parses YAML."""
