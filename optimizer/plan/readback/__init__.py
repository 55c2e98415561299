"""From the counts of a solution to a plan and its bill."""
