"""What several methods, measures, applications and simulations compute with."""
