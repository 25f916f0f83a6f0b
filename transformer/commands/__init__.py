"""The commands of `headlight`, or `python -m transformer`: each file adds its own to the parser and runs them.

What trains and what scores takes long to import: each command imports it when it runs.
"""
