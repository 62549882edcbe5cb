"""Test functions: the unimodal BBOB functions and plain textbook functions."""
