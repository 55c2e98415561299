"""REST under /v1, what describes it, and what keeps it safe."""
