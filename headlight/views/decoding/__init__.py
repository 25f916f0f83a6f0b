"""Decoding: a translation token by token."""
