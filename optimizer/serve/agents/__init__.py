"""The same answers as tools of the Model Context Protocol, for agents that start the program themselves."""
