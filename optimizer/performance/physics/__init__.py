"""One replica of a model on GPUs: memory, steps, queues; arrays in SI units."""
