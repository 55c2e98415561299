"""Requests served one by one: a replica with continuous batching, event by event, on the step costs of the physics."""
