"""Weeks: what joins their hours, levels of demand, machines paid all month, prices of starts."""
