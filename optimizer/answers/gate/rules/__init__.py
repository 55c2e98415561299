"""What is demanded of a month and of its prices: by the call, by a file of guardrails, and of names that must exist."""
