"""Containers paid by the second: how long they are up, who waits for one to start, and which serve a workload."""
