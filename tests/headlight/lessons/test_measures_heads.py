"""Measures of heads, words and alignments against rows counted one by one, and the Transformer in NumPy."""

from os.path import commonprefix
from types import SimpleNamespace

import numpy as np
import pytest
from support.by_hand import by_hand, hiding, log_probabilities, loss_under, stays, without_heads, written
from support.head_rows import Head, mark, word
from support.lesson_runs import LANGUAGES, SENTENCES, decided, named, numbers_of, outcome_of, right_of, run_of

from headlight.language import speaking
from headlight.lessons.answer import Run
from headlight.lessons.glosses import glosses
from headlight.lessons.measures import alignment, attention
from headlight.lessons.measures.alignment import PLAINLY
from headlight.lessons.measures.attention import AGREED, NEGATIONS, PLAIN
from headlight.lessons.measures.wording import NEAR, NEAR_NATS, told_apart
from transformer.interpret.head_patterns import HeadMeasures, Pattern, Share
from transformer.model.heads import Heads

OUTPUT, INPUT = Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT
MORE = ("The cat is hungry because it has not eaten.", "She has never seen the old house.", "He does not speak French.")


def share(count: tuple[int, int]) -> float:
    return count[0] / count[1]


def counted(run: Run) -> dict[str, dict[Pattern, tuple[int, int]]]:
    """Count for each head, such as "3.5", its rows that follow either alignment, and all that could."""
    trace = run.trace
    average = trace.cross.astype(np.float64).mean(axis=(0, 1))
    heads = {
        f"{layer + 1}.{head + 1}": Head(
            "cross", trace.cross[layer, head], trace.source_tokens, trace.target_tokens, average
        )
        for layer, head in np.ndindex(trace.cross.shape[:2])
    }
    return {name: {pattern: head.count(pattern) for pattern in (OUTPUT, INPUT)} for name, head in heads.items()}


def needed(run: Run) -> dict[int, int]:
    """Return for each output word's row the source word without which its log P falls most."""
    words = [key for key, token in enumerate(run.trace.source_tokens) if word(token)]
    rows, ids = [row for row, token in enumerate(run.trace.target_tokens) if word(token)], run.trace.target_ids
    left = np.array([log_probabilities(run, ids, hiding([key], ("encoder", "cross"))) for key in words])
    return {row: words[int(left[:, row, ids[row]].argmin())] for row in rows}


def key_of(names) -> str:
    return f"{names['layer'] + 1}.{names['head'] + 1}"


def test_the_best_aligner_is_ahead_by_both_yardsticks():
    for run, answer in decided("best_aligner", *MORE, most=3):
        heads, keys, first = counted(run), needed(run), right_of(answer)
        by_need = {
            name: sum(run.trace.cross[int(name[0]) - 1, int(name[2:]) - 1, row].argmax() == keys[row] for row in keys)
            for name in numbers_of(answer)
        }
        assert numbers_of(answer) == {name: heads[name][OUTPUT][0] for name in by_need} and first == key_of(
            answer.names
        )
        least = max(2, NEAR * heads[first][OUTPUT][1])
        for name in by_need.keys() - {first}:
            ahead = heads[first][OUTPUT][0] - heads[name][OUTPUT][0], by_need[first] - by_need[name]
            assert min(ahead) >= least


def test_the_aligning_layer_has_the_highest_mean_of_shares():
    for run, answer in decided("aligning_layer", *MORE):
        heads = counted(run)
        means = [np.mean([share(count[OUTPUT]) for key, count in heads.items() if key[0] == name]) for name in "123"]
        assert answer.value == pytest.approx(100 * max(means)) and means[answer.names["layer"]] == max(means)
        assert means[answer.names["low_layer"]] == min(means) <= max(means) - NEAR + 1e-9


def test_the_head_with_two_readings_differs_from_sentence_to_sentence():
    rights = set()
    for run, answer in decided("better_reading", *MORE, most=9):
        counts = counted(run)[key_of(answer.names)]
        rights.add(right_of(answer))
        by_input, by_output = counts[INPUT][0], counts[OUTPUT][0]
        assert right_of(answer) == (
            "either" if by_input == by_output else "input" if by_input > by_output else "output"
        )
    assert rights == {"input", "output", "either"}


def test_a_head_that_reads_its_inputs_words_is_recognised():
    done = []
    for at, text in enumerate((*SENTENCES[:2], MORE[0])):
        for name, counts in counted(run_of(LANGUAGES[at % 2], text)).items():
            answer = outcome_of(run_of(LANGUAGES[at % 2], text, head=f"cross.{name}"), "input_head")
            if not isinstance(answer, str):
                by_input, by_output = (share(counts[pattern]) for pattern in (INPUT, OUTPUT))
                done.append(by_input > 0.5 and by_input - by_output >= PLAINLY)
                assert answer.done == done[-1], (text, name)
    assert any(done) and not all(done)
    for head in ("", "cross.9.9", "cross.1.1-cross.1.2", "x"):
        assert not outcome_of(run_of("en-de", MORE[0], head=head), "input_head").done


def words_of(run: Run) -> list[list[int]]:
    """Return the positions of each word, and of each run of marks, of the source."""
    words: list[list[int]] = []
    tokens = run.trace.source_tokens
    for at, token in enumerate(tokens[:-1]):
        before, after = tokens[at - 1] if at else "", tokens[at + 1]
        in_word = token == "'" and word(before) and word(after) and after[0] != "▁"
        if words and (in_word or not token.startswith("▁") and (mark(token) == mark(before) or before == "'")):
            words[-1].append(at)
        else:
            words.append([at])
    return words


def is_whole(tokens, at: int) -> bool:
    after = (*named(tokens), "", "")[at + 1 : at + 3]
    return tokens[at].startswith("▁") and after[0][:1] != "·" and not (after[0] in ("'", "-") and word(after[1]))


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_key_that_is_read_most_is_that_of_the_farthest_plain_row(kind):
    for run, answer in decided("most_read", kind=kind):
        trace, names = run.trace, answer.names
        weights = trace.attention(kind)[names["layer"], names["head"]].astype(np.float64)
        tokens = trace.source_tokens if kind == "encoder" else trace.target_tokens
        keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
        top = np.sort(weights, axis=1)[:, ::-1]
        plain = {row: int(key) for row, key in enumerate(weights.argmax(axis=1)) if top[row, 0] - top[row, 1] >= PLAIN}
        plain = {row: key for row, key in plain.items() if word(tokens[row]) and word(keys[key])}
        if kind == "cross":
            words = [at for at, each in enumerate(keys) if word(each)]
            mean = trace.cross.mean(axis=(0, 1), dtype=np.float64)[:, words].argmax(axis=1)
            plain = {row: key for row, key in plain.items() if words[mean[row]] == key}
            plain = {row: key for row, key in plain.items() if can_be_told(run, tokens[row], keys[key])}
        whole = {row: key for row, key in plain.items() if is_whole(tokens, row) and is_whole(keys, key)}
        whole = {row: key for row, key in whole.items() if tokens[row] != keys[key]} or whole or plain
        row, key = names["row"], names["key"]
        assert whole[row] == key and abs(row - key) == max(abs(one - other) for one, other in whole.items())
        assert (names["word"], names["read"]) == (named(tokens)[row], named(keys)[key])
        assert names["heads"] == trace.attention(kind).shape[0] * trace.attention(kind).shape[1]
        numbers = numbers_of(answer)
        assert right_of(answer) == str(key) and numbers == {name: weights[row, int(name)] for name in numbers}


def can_be_told(run: Run, *tokens: str) -> bool:
    written, read = (token.replace("▁", "") for token in tokens)
    meanings = glosses(run.translator.checkpoint.data["target_language"])
    known = meanings.get(written, meanings.get(written.lower(), ""))
    if known:
        return read.lower() in known.replace("/", " ").split()
    shared = len(commonprefix((written.lower(), read.lower())))  # of a form of the same word, or a name
    return shared == min(len(written), len(read)) or 3 <= shared >= max(len(written), len(read)) / 2


def only_words(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def test_a_translation_without_a_word_is_that_of_the_model_by_hand():
    for run, answer in decided("without_word", most=1) + decided("without_word", "I don't drink tea.", most=9)[-1:]:
        words, text = words_of(run), run.trace.target_text
        changing = [at for at in words if only_words(written(run, hiding(at))) != only_words(text)]
        spelled = ["".join(run.trace.source_tokens[at] for at in each).replace("▁", "") for each in changing]
        negations = [each for each in spelled if each.lower() in NEGATIONS or each.lower().endswith("n't")]
        assert answer.names["word"] in (negations or spelled) and words[answer.names["key"]] in changing
        left = written(run, hiding(words[answer.names["key"]]))
        assert left == answer.names["left"] != text == answer.names["translation"]
        right, *wrong = [{*only_words(option.label).split()} for option in answer.options]
        assert set.intersection(*wrong) - right, "a word of all wrong options is lost"


def test_a_word_that_stands_twice_is_not_hidden(monkeypatch):
    left = ["Ein Hund ist da.", "Ein.", "Ein Hund ist da."]
    hidden = SimpleNamespace(target_text="Ein Hund ist nicht da."), ["▁not", "▁dog", "▁not"], left
    monkeypatch.setattr(attention, "_hidden_words", lambda _: hidden)
    assert attention.without_word(run_of("en-de", SENTENCES[0])).names["word"] == "▁dog"


def test_a_word_is_harmless_if_the_model_by_hand_writes_the_same_without_it():
    for run, answer in decided("harmless_words"):
        same = [stays(run, hiding(positions)) for positions in words_of(run)]
        assert same[answer.names["key"]] and all(
            word(run.trace.source_tokens[words_of(run)[int(each.name)][0]]) for each in answer.options
        ), "no marks"
        assert {option.name for option in answer.options if same[int(option.name)]} == answer.right


def test_the_mean_of_all_heads_is_taken_in_the_cell_of_the_lesson():
    for run, answer in decided("mean_of_heads"):
        first = outcome_of(run, "most_read", kind="cross").names
        cell = answer.names["row"], answer.names["key"]
        assert cell == (first["row"], first["key"])
        heads = [float(head[cell]) for layer in run.trace.cross for head in layer]
        assert answer.value == pytest.approx(100 * sum(heads) / len(heads), abs=1e-4)


def test_a_dimension_belongs_to_the_head_whose_columns_have_it():
    answer, model = outcome_of(run_of("en-de", SENTENCES[0]), "head_of_dimension"), by_hand("en-de")
    columns = np.arange(model.weights["encoder.0.self_attention.output.weight"].shape[1])
    heads = np.array_split(columns, model.config["num_heads"])
    (right,) = (number for number, dimensions in enumerate(heads) if answer.names["dimension"] in dimensions)
    assert right_of(answer) == str(right) == str(answer.names["head"])
    sizes = answer.names["width"], answer.names["heads"], answer.names["d_k"]
    assert sizes == (len(columns), len(heads), len(heads[0]))
    for option in answer.options:
        assert f"{heads[int(option.name)][0] + 1} to {heads[int(option.name)][-1] + 1}" in option.feedback


@pytest.mark.parametrize(("name", "pattern"), [("next", Pattern.NEXT), ("previous", Pattern.PREVIOUS)])
def test_the_neighbour_head_reads_a_neighbour_most_often(name, pattern):
    for run, answer in decided("neighbour_head", *MORE, pattern=name):
        tokens, maps = run.trace.source_tokens, run.trace.encoder
        counts = {
            f"{layer + 1}.{head + 1}": Head("encoder", maps[layer, head], tokens, None).count(pattern)
            for layer, head in np.ndindex(maps.shape[:2])
        }
        rows, eligible = counts[right_of(answer)]
        assert eligible / 2 < rows >= sorted(count for count, _ in counts.values())[-2]
        assert right_of(answer) == key_of(answer.names)
        numbers = numbers_of(answer)
        assert numbers == {key: counts[key][0] for key in numbers}
        assert sorted(numbers.values())[-2] <= rows - max(2, NEAR * eligible - 1e-9), "the lead is visible"
    assert isinstance(outcome_of(run, "neighbour_head", pattern="same"), str)


@pytest.mark.parametrize(("eligible", "behind"), [(8, [6, 3]), (40, [3])])
def test_a_head_is_plainly_behind_by_two_rows_and_a_tenth(eligible, behind):
    heads = [HeadMeasures("encoder", 0, 0, {Pattern.NEXT: Share(rows, eligible)}, 0, 0, None) for rows in (8, 7, 6, 3)]
    later = alignment.plainly_behind(heads[0], heads[1:], Pattern.NEXT)
    assert [head.counts[Pattern.NEXT].rows for head in later] == behind


def test_heads_that_change_a_translation_or_are_missed_do_so_by_hand():
    for _, answer in decided("heads_that_change", *MORE):
        assert 0 <= answer.names["count"] == answer.value <= answer.names["heads"] == 72 and answer.margin == 7
    for run, answer in decided("without_neighbour_head", *MORE, most=2, pattern="next"):
        losses = [
            loss_under(run, without_heads(("encoder", layer, head)))
            for layer, head in np.ndindex(run.trace.encoder.shape[:2])
        ]
        numbers = numbers_of(answer)
        assert max(numbers.values()) == numbers[right_of(answer)] == pytest.approx(max(losses), abs=1e-3)
        assert right_of(answer) == answer.names["off"].address and f"encoder.{key_of(answer.names)}" in numbers
    for run, answer in decided("most_missed", *MORE, most=2):
        heads = [Heads.parse(option.name) for option in answer.options]
        losses = {head.address: loss_under(run, without_heads((head.kind, head.layer, head.head))) for head in heads}
        second, first = sorted(losses.values())[-2:]
        assert numbers_of(answer) == pytest.approx(losses, abs=1e-3) and first >= max(second + NEAR_NATS - 1e-4, 0.99)
        assert right_of(answer) == answer.names["off"].address
        assert {each.kind for each in heads} == {"encoder", "decoder", "cross"}


def test_lines_that_cross_read_the_words_on_which_all_heads_agree():
    for run, answer in decided("lines_cross", "I have never seen a red car.", "I want to read a book tonight.", most=6):
        trace, at = run.trace, (answer.names["layer"], answer.names["head"])
        average, weights = trace.cross.astype(np.float64).mean(axis=(0, 1)), trace.cross[at]
        words = [key for key, token in enumerate(trace.source_tokens) if word(token)]
        agreed = [max(words, key=lambda key, row=row: average[row, key]) for row in range(len(average))]
        lines = [
            (row, agreed[row])
            for row, token in enumerate(trace.target_tokens)
            if word(token) and weights[row].argmax() == agreed[row] and average[row, agreed[row]] >= AGREED
        ]
        pairs = [(one, other) for one in lines for other in lines if one[0] < other[0] and one[1] > other[1]]
        pieces = [[trace.target_tokens[row].strip("▁") for row, _ in pair] for pair in pairs]
        assert answer.done == any(all(each in answer.truth for each in pair) for pair in pieces), answer.truth


def test_options_mark_and_gloss_each_word_that_they_do_not_share():
    texts = "Ich mag nichts, Tom.", "Ich mag Tom.", "Ich mag dich, Tom.", ""
    assert told_apart(texts[:3], "German") == [
        "“Ich mag **nichts** (nothing), Tom.”",
        "“Ich mag Tom.”",
        "“Ich mag **dich** (you), Tom.”",
    ]
    assert told_apart(("Tom, ich mag es.", "Ich mag es, Tom."), "") == ["“Tom, ich mag es.”", "“Ich mag es, Tom.”"]
    assert told_apart(texts[3:], "German") == ["(nothing: the model ended the sentence at once)"]
    with speaking("de"):
        assert told_apart(texts[:2], "German")[0] == "“Ich mag **nichts**, Tom.”"
