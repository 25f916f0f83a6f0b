"""Laws of the captions on a translation: its improbable token, its depth, and what a map attends to."""

import json
import re

import numpy as np
from support.head_rows import COUNTED, Head, thresholds, word
from support.traced import CHECKPOINT, TOKEN, all_traces, is_printed, place_of, traces, translator

from headlight.views.translate.text import depth_words, describe_map, least_probable_token, strongest_reading
from transformer.decoding.output_statistics import load_outputs
from transformer.interpret.head_patterns import most_confident_head
from transformer.interpret.trace import attention_map


def test_the_improbable_token_is_the_least_probable_and_the_other_the_best_that_was_not_chosen():
    never = {translator().tokenizer.pad_id, translator().tokenizer.begin_id}
    for trace in all_traces():
        said = re.fullmatch(
            rf"Lowest-probability token: {TOKEN}, (.+? %), (top-1|rank (\d+)); “(.+?)” got (.+? %)\.",
            least_probable_token(trace),
        )
        step = place_of(trace.next_tokens, said[1], said[2])
        probabilities = [float(each) for each in trace.next_probabilities]
        assert probabilities[step] == min(probabilities) and is_printed(said[3], probabilities[step])
        better = sum(float(each) > probabilities[step] for each in trace.candidate_probabilities[step])
        rank = int(said[5] or 1)
        assert rank - 1 == better if better < 10 else rank > 10
        row = zip(trace.candidate_ids[step].tolist(), trace.candidate_probabilities[step].tolist(), strict=True)
        others = {id: each for id, each in row if id != trace.next_ids[step] and id not in never}
        other = max(others, key=others.get)
        assert said[6] == translator().tokenizer.piece_text(other) and is_printed(said[7], others[other])


def test_what_is_said_of_a_sentence_that_is_too_much_is_so_beside_the_corpus():
    usual = load_outputs(CHECKPOINT / "outputs.json")
    written = json.loads((CHECKPOINT / "outputs.json").read_text())
    told = 0
    for trace in all_traces():
        mean = sum(np.log(float(each)) for each in trace.next_probabilities) / len(trace.next_probabilities)
        lower = 100 * sum(each < mean for each in written["mean_log_probabilities"]) / usual.sentences
        spread = re.findall(r"(?:^|▁)[^▁]*", "\0".join(trace.source_tokens[:-1]))
        pieces = [sum(any(each.isalnum() for each in piece) for piece in part.split("\0")) for part in spread]
        split, words = sum(each >= 3 for each in pieces), sum(each > 0 for each in pieces)
        share = split / max(1, words)
        fewer = sum(each < share for each in written["split_shares"]) / usual.sentences
        text = depth_words(trace, usual)
        assert bool(text) == (lower <= 5 or (split > 0 and fewer >= 0.95)), trace.source_text
        assert "log-probability" not in depth_words(trace, usual, drawn=True) and not depth_words(trace, None)
        if not text:
            continue
        told += 1
        assert f"Beside the greedy translations of {usual.sentences:,} sentences" in text
        sure = re.search(r"output tokens is −(\d+\.\d\d), and lower in (.+?) of them", text)
        assert bool(sure) == (lower <= 5)
        if sure:
            assert abs(float(sure[1]) + mean) <= 0.005 + 1e-6
            low, high = {"none": (0, 0), "under 1 %": (1e-9, 1)}.get(sure[2]) or (int(sure[2][:-2]) - 0.5, lower + 1)
            assert low <= lower <= high
        many = re.search(
            r"(\d+) of its (\d+) words? (is|are) split into 3 tokens or more \((\d+) %; there (.+?) on", text
        )
        assert bool(many) == (split > 0 and fewer >= 0.95)
        if many:
            assert (int(many[1]), int(many[2]), many[3] == "is") == (split, words, split == 1)
            assert abs(int(many[4]) - 100 * share) <= 0.5 + 1e-9
            assert abs(int(many[5][:-2]) - 100 * np.mean(written["split_shares"])) <= 0.5
    assert told >= 3


def test_the_weight_named_is_the_largest_between_two_words():
    named = 0
    for trace in traces():
        places = [(0, 0), (1, 5), (2, 3), (2, None), (None, 1), (None, None)]
        for layer, head in places:
            text = strongest_reading(attention_map(trace, "cross", layer, head, "predicted"))
            chosen = trace.cross.astype(np.float64)
            chosen = chosen if layer is None else chosen[layer : layer + 1]
            chosen = (chosen if head is None else chosen[:, head : head + 1]).mean(axis=(0, 1))
            weights = {
                (row, column): chosen[row, column]
                for row, out in enumerate(trace.next_tokens)
                for column, key in enumerate(trace.source_tokens)
                if word(out) and word(key)
            }
            if not weights:
                assert text == ""
                continue
            said = re.fullmatch(
                rf"In the (.+?), the row that predicts {TOKEN} attends to {TOKEN} with weight (\d\.\d\d), the largest "
                r"weight between two words\.",
                text,
            )
            row, column = place_of(trace.next_tokens, said[2], said[3]), place_of(trace.source_tokens, said[4], said[5])
            assert weights[row, column] >= max(weights.values()) - 1e-6
            assert abs(float(said[6]) - weights[row, column]) <= 0.005 + 1e-6 and float(said[6]) > 0
            numbers = [int(each) for each in re.findall(r"(?:layer|head) (\d+)", said[1])]
            assert numbers == [each + 1 for each in (layer, head) if each is not None] or "average" in said[1]
            named += 1
    assert named > 150


def test_what_is_said_of_a_whole_map_is_so_in_its_rows():
    labels, seen = thresholds(), set()
    for trace in traces():
        for kind in ("encoder", "decoder", "cross"):
            keys = trace.fed_tokens if kind == "decoder" else trace.source_tokens
            for layer, head in [(0, 0), (0, 4), (1, 2), (2, 7), (2, None)]:
                chosen = attention_map(trace, kind, layer, head)
                raw = getattr(trace, kind)[layer]
                own = Head(kind, raw[head] if head is not None else raw.mean(axis=0), keys, trace.next_tokens)
                text = describe_map(chosen)
                if len(own.rows) < 3:
                    assert "too short" in text
                    continue
                sharp = float(re.search(r"a row's largest weight is (\d\.\d\d) on average", text)[1])
                assert abs(sharp - np.mean([max(row) for row in own.rows.values()])) <= 0.005 + 1e-6
                reached = [
                    words
                    for words, least, rows in labels.values()
                    for follow, could in [own.count(words)]
                    if could >= rows and follow / could >= least
                ]
                counted = COUNTED.search(text)
                assert bool(counted) == (bool(reached) and not own.tied())
                if counted:
                    assert text.startswith(reached[0], counted.end())
                    assert (int(counted[1]), int(counted[2])) == own.count(reached[0])
                else:
                    entropies = [-(row[row > 0] * np.log(row[row > 0])).sum() for row in own.rows.values()]
                    even = float(re.search(r"its entropy that of (\d+\.\d) equal weights", text)[1])
                    assert abs(even - np.exp(np.mean(entropies))) <= 0.05 + 1e-4
                seen.add(bool(counted))
    assert seen == {True, False}


def test_no_head_is_more_confident_than_the_most_confident():
    for trace in traces():
        columns = [place for place, token in enumerate(trace.source_tokens) if token != "</s>"]
        sharp = trace.cross.astype(np.float64)[..., columns].max(axis=-1).mean(axis=-1)
        assert sharp[most_confident_head(trace.cross, trace.source_tokens)] >= sharp.max() - 1e-6
