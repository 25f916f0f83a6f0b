"""Contrast: both panels hold the engine's numbers, the address chooses step and candidate."""

import dataclasses

import numpy as np
from support.pages import numbers, open_page, page_text, specs
from support.traces import loaded, stream_of, trace_of

from headlight.plots.contributions import Contrast, other_candidates
from headlight.plots.tokens import in_words
from headlight.views.research.contrast import describe_contrast, most_doubtful_step
from transformer.interpret.attribution import Attribution, gradient_times_input, leave_one_out

PAGE, VIEW = "pages/research.py", "contrast"
TEXT = "I love my teacher."


def panels(app) -> list[dict]:
    (spec,) = specs(app)
    return spec["data"]


def contrast(**changed) -> Contrast:
    gradient = Attribution(np.array([0.5, -1.0, 0.25]), np.array([9.0, 0.75, -0.5]), 2.0)
    left_out = Attribution(np.array([3.0, -0.5, 0.1]), np.array([-9.0, 2.0, np.nan]), 2.0)
    made = Contrast("▁x", "<i>", ("a", "b", "a"), ("<s>", "p", "q"), gradient, left_out)
    return dataclasses.replace(made, **changed)


def test_every_bar_is_what_the_engine_computes_for_the_candidate_that_the_address_names():
    trace, model = trace_of("en-de", TEXT), loaded("en-de").model
    other = trace.candidate_tokens[1][4]
    app = open_page(PAGE, research=VIEW, text=TEXT, step="2", against=other)
    asked = model, trace.source_ids, trace.decoder_input_ids[:2], trace.target_ids[1], int(trace.candidate_ids[1][4])
    shown = panels(app)
    for bars, found in zip(shown, (gradient_times_input(*asked), leave_one_out(*asked)), strict=True):
        values, width = numbers(bars["x"]), len(trace.source_tokens)
        np.testing.assert_allclose(values[1 : 1 + width], found.source, atol=2e-4)
        np.testing.assert_allclose(values[2 + width :], found.prefix, atol=2e-4)
    logits = stream_of("en-de", TEXT).logits[1]
    said = page_text(app)
    assert f"logit {logits[trace.target_ids[1]]:.2f})" in said and f"logit {logits[asked[-1]]:.2f})" in said.replace(
        "−", "-"
    )


def test_a_choice_of_step_and_candidate_goes_into_the_address():
    app = open_page(PAGE, research=VIEW, text=TEXT)
    trace = trace_of("en-de", TEXT)
    step = most_doubtful_step(trace)
    others = trace.candidate_probabilities.copy()
    others[trace.candidate_ids == np.array(trace.target_ids)[:, None]] = 0
    assert step == others.max(axis=1).argmax() and app.select_slider(key="step_slider").value == step
    assert app.selectbox(key="against_list").value == trace.candidate_tokens[step][1]
    third = trace.candidate_tokens[step][2]
    app.selectbox(key="against_list").set_value(third).run()
    assert app.query_params["against"] == third and in_words(f"and not “{third}”") in page_text(app).replace("*", "")
    app.select_slider(key="step_slider").set_value(0).run()
    assert app.query_params["step"] == "1"
    assert app.selectbox(key="against_list").value == trace.candidate_tokens[0][1], "the other is no candidate here"


def test_the_chosen_token_is_never_its_own_rival():
    trace = trace_of("en-de", TEXT)
    for step, id in enumerate(trace.target_ids):
        found = other_candidates(trace, step)
        assert id not in [each for each, _ in found.values()] and len(found) == 9
    forced = dataclasses.replace(trace, target_ids=tuple(trace.candidate_ids[:, 3].tolist()))
    assert next(iter(other_candidates(forced, 2))) == trace.candidate_tokens[2][0]


def test_where_there_is_too_little_to_compare_the_sentence_says_so():
    nothing = Attribution(np.zeros(1), np.array([0.0]), 0.0)
    found = describe_contrast(contrast(source=("a",), prefix=("<s>",), gradient=nothing, left_out=nothing))
    assert found.headline == "There is too little here to compare the two methods."
    assert found.more.endswith(" “<s>” is not counted.")
