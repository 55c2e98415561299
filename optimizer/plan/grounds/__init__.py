"""What the plan rests on: where its cost comes from, what nobody measured, what was left out and how near it came."""
