"""Contrast: both panels hold the engine's numbers, the address chooses step and candidate."""

import dataclasses

import numpy as np
from support.pages import numbers, open_page, page_text, specs
from support.traces import loaded, trace_of

from headlight.plots.contributions import other_candidates
from headlight.plots.tokens import in_words
from headlight.views.research.contrast import most_doubtful_step
from transformer.interpret.attribution import gradient_times_input, leave_one_out

PAGE, VIEW = "pages/research.py", "contrast"
TEXT = "I love my teacher."


def test_every_bar_is_what_the_engine_computes_for_the_candidate_that_the_address_names():
    trace, model = trace_of("en-de", TEXT), loaded("en-de").model
    other = trace.candidate_tokens[1][4]
    app = open_page(PAGE, research=VIEW, text=TEXT, step="2", against=other)
    inputs = model, *trace.before(1), int(trace.candidate_ids[1][4])
    (figure,) = specs(app)
    for bars, attribution in zip(figure["data"], (gradient_times_input(*inputs), leave_one_out(*inputs)), strict=True):
        values, width = numbers(bars["x"]), len(trace.source_tokens)
        np.testing.assert_allclose(values[1 : 1 + width], attribution.source, atol=2e-4)
        np.testing.assert_allclose(values[2 + width :], attribution.prefix, atol=2e-4)


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
        attribution = other_candidates(trace, step)
        assert id not in [each for each, _ in attribution.values()] and len(attribution) == 9
    forced = dataclasses.replace(trace, target_ids=tuple(trace.candidate_ids[:, 3].tolist()))
    assert next(iter(other_candidates(forced, 2))) == trace.candidate_tokens[2][0]
