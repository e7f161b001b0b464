"""How the command speaks: tables that fit the terminal, colours that can be turned off, JSON, progress."""
