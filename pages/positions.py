"""Positional encoding: how does the model know in which order the words stand?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.positions.page import show_page  # noqa: E402

show_page(request)
