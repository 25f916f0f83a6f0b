"""What lessons ask about reading and hiding, against the trace's arrays and the model by hand."""

import numpy as np
import pytest
from support.by_hand import hiding, stays, written
from support.head_rows import mark, word
from support.lesson_runs import LANGUAGES, SENTENCES, decided, measured, named, run_of
from support.pages import ROOT

from headlight.lessons.answer import Kind, Run
from headlight.lessons.file import read_lesson
from headlight.lessons.measures.attention import NEGATIONS, PLAIN
from headlight.lessons.measures.wording import NEAR
from transformer import Beam

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
NEGATED = (
    "I don't drink tea.",
    "The cat is hungry because it has not eaten.",
    "He does not speak French.",
    "I never drink tea.",
)


def short(value: float) -> str:
    return "under 1 %" if 0 < value < 0.01 else "over 99 %" if 0.995 <= value < 1 else f"{100 * value:.0f} %"


def head_of(run: Run, names, kind="cross") -> np.ndarray:
    return run.trace.attention(kind)[int(names["layer"]) - 1, int(names["head"]) - 1].astype(np.float64)


def words_of(run: Run) -> list[list[int]]:
    """The positions of each word, and of each run of marks, of the source."""
    words: list[list[int]] = []
    for at, token in enumerate(run.trace.source_tokens):
        if token == "</s>":
            continue
        before = run.trace.source_tokens[at - 1] if at else ""
        after = run.trace.source_tokens[at + 1]
        in_word = token == "'" and word(before) and word(after) and after[0] != "▁"
        if words and (in_word or not token.startswith("▁") and (mark(token) == mark(before) or before == "'")):
            words[-1].append(at)
        else:
            words.append([at])
    return words


def whole_word(tokens, at: int) -> bool:
    after = (*named(tokens), "", "")[at + 1 : at + 3]
    return tokens[at].startswith("▁") and after[0][:1] != "·" and not (after[0] in ("'", "-") and word(after[1]))


def written_word(run: Run, positions: list[int]) -> str:
    return "".join(run.trace.source_tokens[at] for at in positions).replace("▁", "")


@BOTH
@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_what_is_read_most_has_the_largest_weight_of_a_plain_row_and_stands_farthest_from_it(checkpoint, kind):
    answers = decided(checkpoint, "most_read", kind=kind)
    assert len(answers) >= 6
    for run, answer in answers:
        weights = head_of(run, answer.names, kind)
        tokens = run.trace.source_tokens if kind == "encoder" else run.trace.target_tokens
        keys = run.trace.decoder_input_tokens if kind == "decoder" else run.trace.source_tokens
        ordered = np.sort(weights, axis=1)[:, ::-1]
        plain = {
            row: int(weights[row].argmax())
            for row in range(len(weights))
            if word(tokens[row]) and word(keys[weights[row].argmax()]) and ordered[row, 0] - ordered[row, 1] >= PLAIN
        }
        if kind == "cross":
            words = [at for at, each in enumerate(keys) if word(each)]
            mean = run.trace.cross.mean(axis=(0, 1), dtype=np.float64)[:, words].argmax(axis=1)
            plain = {row: key for row, key in plain.items() if words[mean[row]] == key}
        whole = {row: key for row, key in plain.items() if whole_word(tokens, row) and whole_word(keys, key)}
        whole = {row: key for row, key in whole.items() if tokens[row] != keys[key]} or whole or plain
        row = int(answer.names["row"]) - 1
        key = whole[row]
        assert abs(row - key) == max(abs(one - other) for one, other in whole.items())
        assert answer.names["word"] == named(tokens)[row] and answer.names["read"] == named(keys)[key]
        assert answer.right == {str(key)} and answer.names["key"] == str(key + 1)
        assert short(weights[row, key]) in answer.truth
        for option in answer.options:
            assert short(weights[row, int(option.name)]) in option.told
            assert option.name in answer.right or weights[row, int(option.name)] <= weights[row, key] - NEAR


def only_words(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def is_negation(text: str) -> bool:
    return text in NEGATIONS or text.endswith("n't")


@BOTH
def test_without_a_word_it_reads_as_the_model_writes_by_hand_without_it(checkpoint):
    answers = decided(checkpoint, "without_word", *NEGATED)
    assert len(answers) >= 10
    for run, answer in answers:
        words = words_of(run)
        positions = words[int(answer.names["key"]) - 1]
        assert written_word(run, positions) == answer.names["word"]
        changing = [at for at in words if only_words(written(run, hiding(at))) != only_words(run.trace.target_text)]
        negations = [each for each in map(written_word, [run] * len(changing), changing) if is_negation(each.lower())]
        assert not negations or answer.names["word"] == negations[0]
        (right,) = (option for option in answer.options if option.name in answer.right)
        left = written(run, hiding(positions))
        assert left == answer.names["left"] and right.label == f"“{left}”" and left in answer.truth
        assert left != run.trace.target_text == answer.names["translation"]
        texts = [only_words(option.label) for option in answer.options]
        assert len(set(texts)) == len(texts), "two that differ by a mark look alike"


@BOTH
def test_a_word_is_harmless_if_the_model_by_hand_writes_the_same_without_it(checkpoint):
    answers = decided(checkpoint, "harmless_words")
    assert len(answers) >= 7
    for run, answer in answers:
        same = [stays(run, hiding(positions)) for positions in words_of(run)]
        assert answer.kind == Kind.SEVERAL and int(answer.names["count"]) == sum(same)
        assert int(answer.names["of"]) == len(same) and same[int(answer.names["key"]) - 1]
        assert {option.name for option in answer.options if same[int(option.name)]} == answer.right
        assert f"{sum(same)} of {len(same)} words and marks" in answer.truth
        assert 0 < len(answer.right) < len(answer.options)


@BOTH
def test_the_mean_of_all_heads_is_their_mean_in_the_cell_that_the_page_names(checkpoint):
    answers = decided(checkpoint, "mean_of_heads")
    assert len(answers) >= 6
    for run, answer in answers:
        row, key = (int(answer.names[name]) - 1 for name in ("row", "key"))
        own = head_of(run, answer.names)[row, key]
        asked = measured(run, "most_read", kind="cross").names
        assert asked.items() >= {name: answer.names[name] for name in ("row", "key", "word", "read")}.items()
        heads = run.trace.cross.reshape(-1, *run.trace.cross.shape[2:]).astype(np.float64)
        expected = sum(head[row, key] for head in heads) / len(heads)
        assert answer.value == pytest.approx(100 * expected, abs=1e-6) and answer.names["heads"] == str(len(heads))
        assert answer.names["weight"] == short(own) and short(expected) in answer.truth
        assert answer.is_right(100 * expected + 9) and not answer.is_right(100 * expected + 11)


@BOTH
def test_lines_cross_where_a_later_word_reads_an_earlier_one(checkpoint):
    crossing = []
    for text in (*SENTENCES, "I love my teacher.", "I have seen the red car.", "He does not speak French."):
        for address in ({}, {"head": "cross.3.2"}, {"head": "cross.all.99"}):
            run = run_of(checkpoint, text, **address)
            answer = measured(run, "lines_cross")
            names = {"layer": "3", "head": "2"} if address.get("head") == "cross.3.2" else answer.names
            weights = head_of(run, names)
            lines = [
                (row, weights[row].argmax())
                for row, token in enumerate(run.trace.target_tokens)
                if word(token) and weights[row].max() >= 0.3 and word(run.trace.source_tokens[weights[row].argmax()])
            ]
            expected = any(one[0] < other[0] and one[1] > other[1] for one in lines for other in lines)
            assert answer.done == expected == answer.is_right(None), text
            assert answer.truth.startswith("The lines of" if expected else "No two of the strongest lines cross")
            crossing.append(expected)
    assert 3 < sum(crossing) < len(crossing) - 3


@BOTH
def test_the_lesson_shows_a_sentence_whose_lines_cross_with_the_head_that_it_began_with(checkpoint):
    begun = measured(run_of(checkpoint, "I love my teacher."), "lines_cross")
    assert not begun.done
    address = {"head": f"cross.{begun.names['layer']}.{begun.names['head']}"}
    shown = read_lesson(ROOT / "headlight" / "lessons" / "shipped" / "attention.toml").steps[-1].show["text"]
    assert measured(run_of(checkpoint, shown, **address), "lines_cross").done


@BOTH
@pytest.mark.parametrize(
    ("measure", "text"),
    [("without_word", "Yes"), ("harmless_words", "Yes"), ("mean_of_heads", "?")],
)
def test_a_sentence_that_cannot_decide_says_so(checkpoint, measure, text):
    told = measured(run_of(checkpoint, text), measure)
    assert isinstance(told, str) and told[0].isupper() and told.endswith(".")


@pytest.mark.parametrize("measure", ["without_word", "harmless_words"])
def test_hiding_is_asked_of_greedy_decoding_alone(measure):
    run = run_of("en-de", SENTENCES[0])
    beam = Run(type(run.request)(run.request.checkpoint, run.request.text, Beam()))
    assert "greedy" in measured(beam, measure)
