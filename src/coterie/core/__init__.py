"""What everything else stands on: shapes, parameters, logs, randomness, the registry, runs."""
