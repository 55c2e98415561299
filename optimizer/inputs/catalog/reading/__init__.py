"""From CSV files to rows: strict cells, own terms laid over them, names that deceive the eye, where a price stands."""
