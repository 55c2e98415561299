"""What was decided and why: the plan's types, its verification and the facts that explain it."""
