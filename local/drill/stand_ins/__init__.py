"""What plays the part of what cannot be had on one machine: file servers' clients, devices, vendors' programs.

One program a file in `programs/`, with a head that says where it goes (`path`), what it plays (`plays`), what it
refuses as the real one would (`refuses`), and what it cannot show (`cannot`). HyperPod's plugin of srun is compiled
into the image; its source, in the image's recipe, has the same head. Each records its calls, and the report lists them,
so that a green drill is not oversold.
"""
