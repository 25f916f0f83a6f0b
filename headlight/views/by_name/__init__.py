"""The app's Plotly figures by name, for notebooks and scripts: `trace.figure("head", kind="cross", layer=2, head=4)`.

Each is a function from a trace, from a translator and a trace, or from a translator alone, with the view's choices as
options. Layers, heads, steps and positions count from 0.
"""

import difflib
import inspect
from collections.abc import Callable

import plotly.graph_objects as go

from headlight.plots.palette import outside_the_app
from transformer.interpret.trace import Trace
from transformer.translator import Translator

from .of_models import OF_MODELS
from .of_runs import OF_RUNS
from .of_traces import OF_TRACES


def trace_figure(trace: Trace, name: str, /, **options: object) -> go.Figure:
    """A figure that a trace alone suffices for; raises ValueError for another, with the names that there are."""
    _check_name(name)
    if name not in OF_TRACES:
        asked = f"{name!r}, trace" if name in OF_RUNS else f"{name!r}"
        raise ValueError(f"the figure {name!r} needs the model: translator.figure({asked})")
    return _drawn(name, OF_TRACES, trace, **options)


def translator_figure(translator: Translator, name: str, text: str | Trace | None = None, /, **options) -> go.Figure:
    """Any figure, of a text (translated greedily) or of a trace; some need neither.

    Raises ValueError as `trace_figure`, and as `Translator.trace` for the text.
    """
    _check_name(name)
    if name in OF_MODELS:
        if text is not None:
            raise ValueError(f"the figure {name!r} is of the model alone: it takes no text")
        return _drawn(name, OF_MODELS, translator, **options)
    if not isinstance(text, str | Trace):
        raise ValueError(f"the figure {name!r} needs a text or a trace: translator.figure({name!r}, text)")
    trace = translator.trace(text) if isinstance(text, str) else text
    if name in OF_TRACES:
        return _drawn(name, OF_TRACES, trace, **options)
    return _drawn(name, OF_RUNS, translator, trace, **options)


def names() -> tuple[str, ...]:
    """All names, those of traces first, then of runs, then of models."""
    return (*OF_TRACES, *OF_RUNS, *OF_MODELS)


def _check_name(name: str) -> None:
    if name not in names():
        near = difflib.get_close_matches(str(name), names(), n=1)
        meant = f", perhaps {near[0]!r}" if near else ""
        raise ValueError(f"no figure is called {name!r}{meant}; there are {', '.join(map(repr, names()))}")


def _drawn(name: str, drawers: dict[str, Callable[..., go.Figure]], *subjects: object, **options) -> go.Figure:
    draw = drawers[name]
    known = dict(list(inspect.signature(draw).parameters.items())[len(subjects) :])
    if unknown := [option for option in options if option not in known]:
        raise ValueError(f"the figure {name!r} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    needed = [option for option, parameter in known.items() if parameter.default is parameter.empty]
    if missing := [option for option in needed if option not in options]:
        raise ValueError(f"the figure {name!r} needs the option {missing[0]!r}")
    try:
        drawn = go.Figure(draw(*subjects, **options))
    except IndexError as error:  # a step, a layer or a token
        raise ValueError(f"an option of the figure {name!r} is out of range: {error}") from error
    except TypeError as error:  # a text where a number belongs
        raise ValueError(f"an option of the figure {name!r} is of another type: {error}") from error
    traces = [each.to_plotly_json() for each in drawn.data]
    return go.Figure(outside_the_app({"data": traces, "layout": drawn.layout.to_plotly_json()}))
