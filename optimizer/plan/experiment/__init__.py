"""What a benchmark run would be worth: the plan for each of its results, and what the run costs."""
