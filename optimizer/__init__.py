"""The cheapest LLM deployment that meets its SLAs, proven and explained."""
