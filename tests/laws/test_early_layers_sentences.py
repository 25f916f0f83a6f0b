"""Laws of the sentences on early layers: the decoder run on a memory made by hand, and logits of unobserved passes."""

import re
from itertools import combinations

import numpy as np
import pytest
import torch
from support.claims import number, told
from support.small import random_ids, unlike_model
from support.streams import loaded, stream_of, trace_of
from support.traced import traces

from headlight.views.why.early_layers import describe_lens, describe_parts, logit_words
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.residual import decoder_lens, kept_positions
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribute_logit

TEXTS = ("I love my teacher.", "I think that he has never read this book.", "Good morning.")
CASES = [("en-de", text) for text in TEXTS] + [("reverse", "abc def")]


@torch.inference_mode()
def greedy(model, memory, length):
    """Greedy decoding from a memory, anew from the first token at each step."""
    fed = [model.config.begin_id]
    while len(fed) <= length and fed[-1] != model.config.end_id:
        causal = torch.ones(1, 1, len(fed), len(fed), dtype=torch.bool).tril()
        logits = model.output_projection(model.decode(torch.tensor([fed]), memory, causal, None))[0, -1]
        logits[list(model.config.never_chosen)] = -torch.inf
        fed.append(int(logits.argmax()))
    return tuple(fed[1:])


def check_lens(text, found, same):
    """What is said of the layers, [embeddings and layers], that give the translation."""
    names = ["embeddings", *(f"layer {layer}" for layer in range(1, len(same)))]
    start, also, missing, written, kept, count = re.fullmatch(
        r"(?:From (?:the )?(.+?) on the decoder writes this very|Only the last layer writes this) translation\. "
        r"(?:It also does from (.+?), but not from (.+?)\. )?From the embeddings, .* it writes ([\d,]+) tokens?"
        r"(?: and goes on)?; (\d+) of the translation's (\d+) are there, in its order\.",
        text,
    ).groups()
    assert (start is None) == (same.count(True) == 1 and len(same) > 1), "no layer but the last"
    at, others = len(same) - 1 if start is None else names.index(start), also.split(", ") if also else []
    assert all(same[at:]) and (at == 0 or not same[at - 1]), "the earliest from which all do"
    assert others == [name for name, there in zip(names[:at], same, strict=False) if there]
    assert missing is None or missing == names[at - 1]
    assert (int(written), int(count)) == (len(found[0].ids), len(found[-1].ids))
    assert ("and goes on" in text) == (not found[0].finished)
    rest, places = iter(found[-1].ids), kept_positions(found[0].ids, found[-1].ids)
    assert int(kept) == len(places) and all(found[0].ids[each] in rest for each in sorted(places))


@pytest.mark.parametrize("name, text", CASES)
def test_from_which_layers_the_translation_is_there_is_what_greedy_decoding_from_them_finds(name, text):
    model, trace, stack = loaded(name).model, trace_of(name, text), stream_of(name, text).encoder
    vectors = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(len(model.encoder)))]
    with torch.inference_mode():
        memories = [model.encoder_norm(torch.tensor(vector)[None]) for vector in vectors]
    same = [greedy(model, memory, len(trace.target_ids)) == trace.target_ids for memory in memories]
    found = decoder_lens(model, trace.source_ids)
    check_lens(told(describe_lens(found)), found, same)


def test_the_layer_from_which_on_the_translation_is_there_is_the_first_with_none_after_it_that_lacks_it():
    """Over random translations from each layer, of few tokens, so that they are often the last one's."""
    random, seen = np.random.default_rng(5), set()
    for _ in range(300):
        ids = [tuple(random.integers(0, 2, random.integers(1, 3)).tolist()) for _ in range(random.integers(2, 6))]
        found = [Hypothesis(each, -1.0, -1.0, bool(random.integers(2))) for each in ids]
        text = told(describe_lens(found))
        check_lens(text, found, [each == ids[-1] for each in ids])
        seen.add("It also does" in text)
    assert seen == {True, False}


def test_as_many_tokens_are_kept_as_any_choice_of_them_that_stands_in_the_order():
    random = np.random.default_rng(2)
    for _ in range(60):
        ids, last = (tuple(random.integers(0, 4, size).tolist()) for size in random.integers(0, 7, 2))
        kept = kept_positions(ids, last)
        assert tuple(ids[at] for at in sorted(kept)) in set(combinations(last, len(kept)))
        longer = set(combinations(ids, len(kept) + 1)) & set(combinations(last, len(kept) + 1))
        assert not longer


def test_the_parts_are_said_to_sum_to_what_an_unobserved_pass_has():
    """In forty sentences at their first, middle and last step, of the logit and of its lead."""
    for name, trace in [("reverse", trace_of("reverse", "abc def")), *(("en-de", each) for each in traces())]:
        last = len(trace.target_ids) - 1
        for step in sorted({0, last // 2, last}):
            asked = loaded(name).model, trace.source_ids, trace.decoder_input_ids[: step + 1], trace.target_ids[step]
            for against in (None, int(trace.candidate_ids[step, 1])):
                assert_parts(*asked, against)


def test_they_are_so_for_one_layer_of_one_head_and_where_every_part_takes():
    model = unlike_model(num_encoder_layers=1, num_decoder_layers=1, num_heads=1)
    source, fed = [*random_ids(4).tolist(), 3], [2, 9]
    for token in range(4, 31):
        assert_parts(model, source, fed, token, None)


KINDS = {
    "the embedding": "embedding",
    "the position": "position",
    "self-attention": "self-attention",
    "cross-attention": "cross-attention",
    "the feed-forwards": "feed-forward",
    "the biases": "biases",
}
PARTS = re.compile(
    r"Of all kinds of part (?P<kind>.+?) (?P<does>adds? most|takes? least), (?P<by>\S+)\. "
    r"(?:(?P<taker>\S.+?) takes? most, (?P<taken>\S+)\. )?All parts sum to (?P<sum>\S+); the run's (?P<what>.+?) is "
    r"(?P<logit>\S+)\. The highest head is (?P<of>.+?) layer (?P<layer>\d+), head (?P<head>\d+) \((?P<most>\S+)\), the "
    r"highest feed-forward that of layer (?P<forward>\d+) \((?P<part>\S+)\)\."
)


def assert_parts(model, source, fed, token, against):
    """What is said sums to the logit of a pass, and the kind, head and feed-forward that are named are the highest."""
    with torch.inference_mode():
        logits = model(torch.tensor([source]), torch.tensor([fed]))[0, -1].double()
    found = attribute_logit(model, source, fed, token, against)
    said = PARTS.fullmatch(told(describe_parts(found, logit_words("x", None if against is None else "y"))))
    assert said["what"] == "logit of “x”" + ("" if against is None else " minus that of “y”")
    expected = float(logits[token] - (0 if against is None else logits[against]))
    assert [number(said["sum"]), number(said["logit"])] == pytest.approx([expected] * 2, abs=0.0052)
    sums = {
        "embedding": found.embedding,
        "position": found.position,
        "self-attention": np.sum(found.decoder),
        "cross-attention": np.sum(found.cross),
        "feed-forward": np.sum(found.feed_forward),
        "biases": found.biases,
    }
    check_kinds(said, sums)
    heads = {"masked decoder self-attention": found.decoder, "cross-attention": found.cross}
    layer, head, of_forward = (int(said[name]) - 1 for name in ("layer", "head", "forward"))
    named = heads[said["of"]][layer, head], found.feed_forward[of_forward]
    assert named == (max(found.decoder.max(), found.cross.max()), max(found.feed_forward))
    assert [number(said["most"]), number(said["part"])] == pytest.approx(named, abs=0.0051)


def check_kinds(said, sums):
    """The kind named adds most, or, where all take, takes least; what takes most is named wherever one does."""
    kind, lowest = KINDS[said["kind"]], min(sums.values())
    assert sums[kind] == max(sums.values()) and number(said["by"]) == pytest.approx(abs(sums[kind]), abs=0.0051)
    assert said["does"].startswith("add") == (sums[kind] > 0)
    assert said["does"].split()[0].endswith("s") != said["kind"].endswith("s"), "subject and verb agree in number"
    assert bool(said["taker"]) == (lowest <= -0.005), "a part is not more than the whole alone"
    if said["taker"]:
        taker = said["taker"][0].lower() + said["taker"][1:]
        assert sums[KINDS[taker]] == lowest and number(said["taken"]) == pytest.approx(-lowest, abs=0.0051)


def test_what_takes_is_not_said_to_add():
    """Over random parts of both signs, all negative ones among them."""
    random, does = np.random.default_rng(7), set()
    for _ in range(300):
        middle = random.choice([-3, 0, 3])
        shapes = {"decoder": (2, 3), "cross": (2, 3), "feed_forward": 2}
        parts = {name: random.normal(middle, 1, shape) for name, shape in shapes.items()}
        numbers = dict(zip(("embedding", "position", "biases"), random.normal(middle, 1, 3).tolist(), strict=True))
        found = LogitAttribution(**parts, **numbers, logit=0.0)
        said = PARTS.fullmatch(told(describe_parts(found, "logit of “x”")))
        check_kinds(said, {name: float(np.sum(value)) for name, value in found.by_kind().items()})
        assert number(said["part"]) == pytest.approx(parts["feed_forward"].max(), abs=0.0051)
        does.add(said["does"])
    assert does >= {"adds most", "add most", "takes least", "take least"}
