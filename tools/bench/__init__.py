"""How fast llm-fleet is: `make bench`."""
