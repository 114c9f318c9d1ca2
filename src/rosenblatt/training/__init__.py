"""Training: epochs over blocks of examples, when to stop, and what happened."""
