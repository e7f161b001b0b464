"""What the inference service requires of a model. `check.py`, `export.py`, `words.py` and `servers.json` are copies.

`make golden` generates them from `constructs/llm_fleet/lifecycle/model_checker`, `model_exporter` and the catalog,
because nodes have only this folder; a test compares them.
"""
