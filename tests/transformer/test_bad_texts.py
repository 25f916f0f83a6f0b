"""Lists with a text that cannot be read: it is named, or skipped; and what are no texts at all."""

import logging

import numpy as np
import pandas
import pytest

from transformer.errors import EmptyTextError, TooLongError, UserError

TEXTS = ["big red dog.", "  ", "cat.", "dog " * 40, "old bird."]


@pytest.mark.parametrize("verb", ["translate", "trace_many", "best_ids"])
def test_the_first_text_that_cannot_be_read_is_named_by_its_index(translator, verb):
    for texts, error, said in (
        (TEXTS, EmptyTextError, r"^texts\[1\]: The text is empty"),
        (TEXTS[2:], TooLongError, r"^texts\[1\]: The text has \d+ tokens"),
    ):
        with pytest.raises(error, match=said):
            getattr(translator, verb)(texts)
    with pytest.raises(UserError, match="^The model has no target language 'de'"):
        getattr(translator, verb)(["cat."], target_language="de")
    with pytest.raises(TooLongError, match=r"^texts\[0\]: The prefix has"):
        getattr(translator, verb)(["cat."], prefix=[5] * 20)


def test_nothing_is_translated_before_all_are_read(translator):
    done = []
    with pytest.raises(UserError):
        translator.translate(["cat."] * 200 + [""], progress=done.append)
    assert not done


@pytest.mark.parametrize("options", [{}, {"beam": 2}], ids=str)
def test_skipped_texts_leave_none_and_a_line_in_the_log(translator, caplog, options):
    usable, done = [TEXTS[0], TEXTS[2], TEXTS[4]], []
    with caplog.at_level(logging.WARNING):
        found = translator.translate(TEXTS, skip=True, progress=done.append, **options)
    one, two, three = translator.translate(usable, **options)
    assert found == [one, None, two, None, three] and done[-1] == len(TEXTS)
    (said,) = caplog.messages
    assert said.startswith("skipped 2 of 5 texts: texts[1]: The text is empty: please write a sentence. texts[3]: The")
    traces = translator.trace_many(TEXTS, skip=True, **options)
    assert [trace and trace.target_text for trace in traces] == found
    with pytest.raises(UserError, match="^The model has no target language"):
        translator.translate(TEXTS, skip=True, target_language="de")
    assert translator.translate(["", "  "], skip=True) == [None, None] and translator.translate([], skip=True) == []


def test_a_target_that_cannot_be_read_is_skipped_with_its_text(translator):
    traces = translator.trace_many(["cat.", "dog."], targets=["", "Hund."], skip=True)
    assert traces[0] is None and traces[1].target_text == "Hund."
    with pytest.raises(EmptyTextError, match=r"^texts\[0\]: The target is empty"):
        translator.trace_many(["cat.", "dog."], targets=["", "Hund."])


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("verb", ["translate", "trace_many"])
def test_what_is_no_text_is_refused_in_a_sentence_skipped_or_not(translator, verb, skip):
    for texts, said in (
        (["cat.", None], r"^texts\[1\]: a text expected, got None$"),
        (["cat.", float("nan")], r"^texts\[1\]: a text expected, got float$"),
        (["cat.", ["dog."]], r"^texts\[1\]: a text expected, got list$"),
        (None, "^a list of texts expected, got None$"),
        (3, "^a list of texts expected, got int$"),
        ({"cat.": 1}, "^a list of texts expected, got dict$"),
        (pandas.DataFrame({"source": ["cat."]}), "^a list of texts expected, got DataFrame$"),
    ):
        with pytest.raises(TypeError, match=said):
            getattr(translator, verb)(texts, skip=skip)
    with pytest.raises(ValueError, match="a list of texts expected, got one text"):
        getattr(translator, verb)("cat.", skip=skip)


def test_a_column_an_array_and_a_generator_are_lists_of_texts(translator):
    expected = translator.translate(["cat.", "big dog."])
    assert translator.translate(pandas.Series(["cat.", "big dog."])) == expected
    assert translator.translate(np.array(["cat.", "big dog."])) == expected
    assert translator.translate(text for text in ("cat.", "big dog.")) == expected


@pytest.mark.parametrize("verb", ["trace", "record", "hypotheses", "pieces", "can_read", "best_ids"])
def test_one_text_that_is_none_is_refused_in_a_sentence(translator, verb):
    for value in (None, 3, b"cat."):
        with pytest.raises(TypeError, match="expected, got"):
            getattr(translator, verb)(value)


@pytest.mark.parametrize("verb", ["head_importance", "measure_means"])
def test_what_are_no_pairs_is_refused_in_a_sentence(translator, verb):
    for pairs, said in (
        (pandas.DataFrame({"source": ["cat."], "target": ["Katze."]}), "pairs .* expected, got DataFrame"),
        (None, "expected, got NoneType"),
        ("cat.", "expected, got str"),
        (["cat."], r"^pairs\[0\]: two texts expected, source and target, got 'cat.'"),
        ([("cat.", "Katze."), ("dog.", None)], r"^pairs\[1\]: two texts expected"),
        ([("cat.", "Katze.", "x")], r"^pairs\[0\]: two texts expected"),
    ):
        with pytest.raises(TypeError, match=said):
            getattr(translator, verb)(pairs)


def test_pairs_that_do_not_fit_are_left_out_of_a_measurement_and_named(translator, caplog):
    pairs = [("cat.", "Katze."), ("", "Hund."), ("dog " * 40, "Hund."), ("big dog.", "großer Hund.")]
    with caplog.at_level(logging.WARNING):
        found = translator.head_importance(pairs)
    assert "left out 2 lines: 1 with a side that has no token, 1 longer than 20 tokens" in caplog.text
    np.testing.assert_array_equal(found.cross, translator.head_importance([pairs[0], pairs[3]]).cross)
