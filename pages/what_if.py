"""Interventions: the translation when something inside the model is changed."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.what_if.page import show_page  # noqa: E402

show_page(request)
