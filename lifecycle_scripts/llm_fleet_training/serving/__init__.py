"""What the inference service asks of a model. `check.py`, `export.py`, `words.py` and `servers.json` are copies.

They are made of `constructs/llm_fleet/lifecycle/model_checker`, `model_exporter` and the catalog by `make golden`,
since nodes have nothing but this folder; a test compares them.
"""
