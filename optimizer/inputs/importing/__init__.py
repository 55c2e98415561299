"""Other people's files as rows of ours."""
