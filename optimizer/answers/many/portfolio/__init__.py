"""Many scenarios planned together where they share limits, machines or a budget."""
