"""Home: what this is, your own sentence translated before your eyes, and three ways on."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.lessons import first_lesson, show_ways  # noqa: E402
from headlight.views.home.page import show_page  # noqa: E402

show_page(request, show_ways, first_lesson)
