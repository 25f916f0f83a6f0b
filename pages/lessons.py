"""Lessons: predict, then look; and what a teacher needs of them."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.lessons import show_page  # noqa: E402

show_page(request)
