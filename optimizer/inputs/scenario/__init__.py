"""What is asked, with the lines that ask for it."""
