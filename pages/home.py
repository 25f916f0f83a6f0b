"""Home: what this is, your own sentence translated before your eyes, and three ways on."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

import headlight.lessons as lessons  # noqa: E402
from headlight.views.home.page import show_page  # noqa: E402

show_page(request, lessons.show_ways, lambda files: lessons.first_lesson(files))  # imported by a download
