"""Leave-one-out of a step on a page: it takes seconds, so it is computed part by part."""

from headlight.app import results
from headlight.app.results import TranslationRequest, contributions
from transformer.interpret.attribution import Attribution, concatenate, parts_to_occlude

from .line import part_by_part


def occlude(request: TranslationRequest, step: int, against: int | None = None) -> Attribution:
    """What log P of the token after a step, from 0, loses without each token; `against` as in `contributions.left_out`.

    Each part is kept once it is there; a bar tells how far it is where that takes long.
    """
    source = len(results.trace(request).source_ids)

    def compute(part: range):
        return contributions.left_out(request, step, part, against)

    done = part_by_part(parts_to_occlude(source, step + 1), compute, "Leaving out one token after the other …")
    return concatenate(done, source)
