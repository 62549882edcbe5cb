"""The paper's experiments: problems, figures and, around them, everything that measures."""
