"""What a scenario may ask of a plan, each requirement declared once and read by everything but verification."""
