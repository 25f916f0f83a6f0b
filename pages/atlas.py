"""Atlas: what does each head do, not in one sentence but over a corpus, and how do we know?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.atlas.page import show_page  # noqa: E402

show_page(request)
