"""Architecture: what is the model made of, and what does each part do to this sentence?"""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.architecture.page import show_page  # noqa: E402

show_page(request)
