"""Test functions: the unimodal ones of BBOB, and plain ones from textbooks."""
