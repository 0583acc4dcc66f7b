"""What several test modules share: logs, references, broken methods. No tests here."""
