"""One head of an attention block: its facts for the component of the steps, and the page with the steps alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headlight.app.facts import encode_matrix
from headlight.app.finding import Templates
from headlight.components.standalone import Words, standalone
from transformer.config import NormType
from transformer.experiments.attention import ToyNumbers, rounding_gaps
from transformer.interpret.attention_block import BlockParameters, Stages
from transformer.interpret.trace import Trace

_WHOLE = ("residual", "x", "memory", "query", "key", "value", "concatenated", "output", "total", "result")
_PROJECTED = ("query", "key", "value")
TEMPLATES = Templates.beside(__file__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One head of an attention block for one sentence of a batch; layer, head and sentence count from 0.

    `gaps` are the largest differences of all stages from their recomputation in float64 (`stages.differences`);
    `query_tokens` and `keys` are tokens, `queries` the labels of the rows. `embedding` has the entries "scaled" (by
    √d_model), "positioned" (positions are added) and "normalised" (a norm follows); `toy` marks made-up numbers.
    """

    kind: str
    layer: int
    head: int
    sentence: int = 0
    stages: Stages
    parameters: BlockParameters
    gaps: Mapping[str, float]
    query_tokens: tuple[str, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    embedding: Mapping[str, bool] = field(default_factory=dict)
    toy: bool = False

    def facts(self) -> dict:
        """Return the facts of the head: see attention_steps/story.js."""
        stages, parameters = self.stages, self.parameters
        return {
            **{name: getattr(self, name) for name in ("kind", "layer", "head", "sentence", "toy")},
            **{name: list(getattr(self, name)) for name in ("query_tokens", "queries", "keys")},
            **{name: dict(getattr(self, name)) for name in ("gaps", "embedding")},
            "batch": len(stages.weights),
            "heads": stages.num_heads,
            "head_size": stages.d_k,
            "norm": str(parameters.norm),
            "norm_type": str(parameters.norm_type),
            "divided": parameters.scale_scores,
            "epsilon": parameters.epsilon,
            "arrays": {name: encode_matrix(array) for name, array in self._arrays().items()},
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the matrices that are drawn or that a sum needs, vectors as one row."""
        stages, parameters = self.stages, self.parameters
        columns = slice(self.head * stages.d_k, (self.head + 1) * stages.d_k)
        arrays = {name: getattr(stages, name)[self.sentence] for name in _WHOLE}
        arrays |= {name: getattr(stages, name)[self.sentence, self.head] for name in ("products", "scores", "weights")}
        arrays |= {f"w_{name}": getattr(parameters, f"w_{name}")[:, columns] for name in _PROJECTED}
        arrays |= {"w_output": parameters.w_output, "gamma": parameters.gamma[None]}
        arrays["unmasked"] = stages.unmasked[self.sentence]
        if parameters.with_biases:
            arrays |= {f"b_{name}": getattr(parameters, f"b_{name}")[None, columns] for name in _PROJECTED}
            arrays["b_output"] = parameters.b_output[None]
        if parameters.norm_type != NormType.RMS:
            arrays["beta"] = parameters.beta[None]
        if parameters.relative is not None:
            arrays["bias"] = stages.bias[self.head]
            arrays["buckets"] = parameters.relative.between(*map(range, arrays["bias"].shape))[1]
        return arrays


def toy_block(numbers: ToyNumbers, sentence: int, head: int) -> Block:
    """Return one head of the small example; sentence and head count from 0."""
    stages = numbers.stages()
    tokens = tuple(TEMPLATES.text("token", number=number + 1) for number in range(numbers.unmasked.shape[-1]))
    return Block(
        kind="encoder",
        layer=0,
        head=head,
        sentence=sentence,
        stages=stages,
        parameters=numbers.parameters,
        gaps=rounding_gaps(stages),
        query_tokens=tokens,
        queries=tokens,
        keys=tokens,
        toy=True,
    )


def steps_page(facts: dict, chosen: tuple[str, ...], title: str, trace: Trace, checkpoint: str) -> str:
    """Return one HTML file with the steps of a head; chosen: see `headlight.components.show.attention_steps`."""
    words = Words(title, trace.source_text, trace.target_text, checkpoint, TEMPLATES.text("look_for"))
    return standalone("attention_steps/steps", {"facts": facts, "chosen": list(chosen), "turn": 0}, words)
