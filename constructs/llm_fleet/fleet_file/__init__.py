"""The fleet file as typed models; the only package that parses YAML."""
