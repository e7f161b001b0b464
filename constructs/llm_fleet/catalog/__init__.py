"""Floor 0: facts as data files, each with its source and date, and one small loader."""
