"""Templates of lessons: items of a tuple, each with a format and a text between them."""

from headlight.lessons.words import Say, fill


def test_items_of_a_tuple_are_written_in_their_format_with_a_text_between_them():
    values = {"shares": (0.5, 0.256, 0.1)}
    assert fill("{shares:signed 2:, }; {shares:; }", values) == "0.50, 0.26, 0.10; 50 %; 26 %; 10 %"
    assert fill("{shares}, or {shares:signed 1:}", values) == "50 %, 26 % and 10 %, or 0.5, 0.3 and 0.1"


def test_a_phrase_among_tokens_is_written_as_it_is():
    assert fill("{all:token:}", {"all": ("▁my", Say("none"))}, {"none": "nothing"}) == "“▁my” and nothing"
