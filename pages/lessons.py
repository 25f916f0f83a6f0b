"""Lessons: predict, then look; what a teacher needs of them; and questions that are asked often."""

from headlight.app.navigation import take_request

request = take_request()  # a script that runs alone ends here: PyTorch is read by app.py first

from headlight.lessons.page import show_page  # noqa: E402

show_page(request)
