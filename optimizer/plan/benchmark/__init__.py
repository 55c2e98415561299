"""The runs that can falsify a plan's promises, and the command lines of the tools that make them."""
