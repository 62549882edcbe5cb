"""Noise that the seed, the generation and the sample's number determine."""
