"""Stand-ins of the model servers: their HTTP interface, limits and shutdown, without a model or an accelerator.

Each is a separate process, configured only by the command and the environment of its container.
"""
