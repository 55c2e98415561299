"""The ground floor: units, errors and the one model base class; imports nothing of the project."""
