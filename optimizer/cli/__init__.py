"""The command line: parse, call one answer, print, choose the exit code."""
