"""Limits of the flaws of lessons' questions (see `support.lesson_flaws`), on sentences drawn at random."""

import pytest
from support.lesson_flaws import count_flaws

DRAWN = {
    "en-de": ["Put the flour on the shelf.", "Our chef is very busy today.", "This is the village where he was born."],
    "en-fr": ["It's all in your head.", "My mom walked into my room.", "He asked me to pass him the salt."],
}


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", DRAWN)
def test_questions_on_drawn_sentences_have_no_flaws_and_are_asked_of_most(checkpoint):
    flaws, same, rarely = count_flaws(checkpoint, DRAWN[checkpoint])
    assert not flaws and len(same) <= 10 and len(rarely) <= 8, "of three sentences, shares vary"
