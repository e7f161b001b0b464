"""How the command asks AWS: one set of clients, and one way to tell what AWS refuses."""
