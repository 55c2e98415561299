"""A verdict for a pipeline: the plan today beside the one kept, rules, causes and changes."""
