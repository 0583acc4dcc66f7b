"""Applications of Coterie: they use the core, which does not know them, and register what they add to it."""
