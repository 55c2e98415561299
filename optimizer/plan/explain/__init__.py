"""Why the plan is what it is: what binds, what else there is, how sure it is."""
