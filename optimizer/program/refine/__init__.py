"""Among plans of equal cost the tidiest, and which requests each replica is sent."""
