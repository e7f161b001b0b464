"""What plays the part of what cannot be had on one machine: file servers' clients, devices, vendors' programs.

One program a file in `programs/`, with a head that says where it goes (`path`), what it plays (`plays`), what it
refuses as the real one would (`refuses`), and what it cannot tell (`cannot`). Each records its calls, and the report
lists them, so that a green drill is not oversold.
"""
