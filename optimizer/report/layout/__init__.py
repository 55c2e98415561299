"""How a report is laid out whatever it says: sections, tables, text, Markdown, images."""
