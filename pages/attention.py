"""Attention: what does every head of the encoder, the decoder and between them look at?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.attention.page import show_page  # noqa: E402

show_page(request)
