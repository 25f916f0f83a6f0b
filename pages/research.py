"""Research: the atlas of all heads, and methods that go beyond the weights."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.research.page import show_page  # noqa: E402

show_page(request)
