"""How far a prediction may be off, by how near it stands to measurements."""
