"""Hostile inputs by the thousand: mutated files for every reader, random plans under caps, our own checks taken out."""
