"""The framework of the command line: program, shared options and text output."""
