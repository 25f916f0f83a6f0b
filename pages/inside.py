"""Inside attention: where does each number of an attention block come from?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.inside.page import show_page  # noqa: E402

show_page(request)
