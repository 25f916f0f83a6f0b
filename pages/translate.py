"""Translate: what does the model make of this sentence, how sure is it, and what does it read?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.translate.page import show_page  # noqa: E402

show_page(request)
