"""One file a target: what a deployment runs, in the words of the tool that runs it."""
