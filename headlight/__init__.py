"""See an encoder-decoder Transformer translate, head by head: `import headlight as hl`.

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    trace.cross[2, 4]                                   # layer 3, head 5: [output tokens, source tokens]
    hl.plots.head(trace, "cross", layer=2, head=4)
    model.trace("I love my teacher.", interventions=[hl.Zero("cross", 2, 4)])

What stands here is imported when it is first used: the app's first script must draw before PyTorch has been read.
"""

from transformer import open_door

__getattr__, __all__ = open_door(__name__, __file__)
