"""Questions: what students wrote into their notebooks, answered with the loaded model."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.views.questions.page import show_page  # noqa: E402

show_page(request)
