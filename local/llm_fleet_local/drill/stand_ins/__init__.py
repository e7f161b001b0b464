"""Programs that replace others which are not available on one machine: file system clients, devices, vendors' tools.

Each program is a file in `programs/`. Its header states its path on nodes (`path`), what it emulates (`plays`), what it
rejects like the real program (`refuses`), and what a drill with it does not prove (`cannot`). HyperPod's plugin of srun
is compiled into the image; its source, in the image's recipe, has the same header. Each records its calls, and the
report lists them, so that readers of a successful drill see what was not tested.
"""
