"""File systems and buckets. Everything here holds state and is retained by default."""
