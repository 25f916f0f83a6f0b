"""Masks: which cells of attention are masked and why, and what leaks when they are not."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.masks.page import show_page  # noqa: E402

show_page(request)
