"""Traces of requests: their lines, blocks of prompts, arrivals and lengths, and what of them a scenario keeps."""
