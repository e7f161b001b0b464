"""The training program, `python -m llm_fleet_training`: one model, many processes, bit-identical results on resume."""
