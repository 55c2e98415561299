"""What is decided for months ahead and over draws, again."""
