"""Why this token: what does each token of a translation depend on?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.why.page import show_page  # noqa: E402

show_page(request)
