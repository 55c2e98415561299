"""Services that share limits and machines: the mixture of their plans, its prices and what no plans undercut."""
