"""Files that deploy a plan: what each deployment runs, worked out once, and said in the words of each target."""
