"""The rows and columns of the program, a theme a file."""
