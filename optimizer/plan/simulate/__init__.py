"""The plan under load, request by request: what its promises are worth when requests really arrive."""
