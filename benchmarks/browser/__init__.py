"""The page of `optimizer serve` in a real browser: what a person does there, step by step, and what axe-core finds."""
