"""Scenarios that share limits and machines: each as a question with prices on what it shares, its plans read back."""
