"""What is to be done with yesterday's plans today: what may stay, what moving saves and costs."""
