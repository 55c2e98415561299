"""A model's row of the catalog from its Hugging Face config.json."""
