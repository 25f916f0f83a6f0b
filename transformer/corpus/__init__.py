"""Measurements over corpora: one pass over sentence pairs by one or many processes, and the tables it makes."""
