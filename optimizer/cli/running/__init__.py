"""From a plan to what runs, and from what runs back to the plan."""
