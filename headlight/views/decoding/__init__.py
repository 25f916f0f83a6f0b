"""Decoding: how a translation comes about, token by token."""
