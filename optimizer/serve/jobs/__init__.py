"""Questions, their ids, and what becomes of them: waiting, at work in a process, answered, kept."""
