"""Layer 0: facts as data files, each with its source and date, and the loader for them."""
