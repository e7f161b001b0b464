"""Creates resources through the APIs of the emulated services, from tables of types."""
