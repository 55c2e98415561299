"""Questions about the months ahead: what to sign, what growth costs, what a plan is worth when nothing is certain."""
