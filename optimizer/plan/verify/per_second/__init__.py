"""What is paid by the second, computed again: prices, time up, waits for starts and limits."""
