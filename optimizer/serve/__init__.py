"""The same answers over HTTP, each question a job."""
