"""A verdict on measured promises: text, Markdown, and JUnit for pipelines."""
