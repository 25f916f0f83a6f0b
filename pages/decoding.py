"""Decoding: how does the translation come about, token by token, and what else could have come?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.decoding.page import show_page  # noqa: E402

show_page(request)
