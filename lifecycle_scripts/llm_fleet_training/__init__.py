"""The training program: one model trained on many processes, resumable to the bit. `python -m llm_fleet_training`."""
