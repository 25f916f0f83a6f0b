"""Logits: how does the decoder's last vector become a word?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.logits.page import show_page  # noqa: E402

show_page(request)
