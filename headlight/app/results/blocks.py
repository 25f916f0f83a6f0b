"""The stages of one attention block for a text, computed once and shared."""

from transformer.interpret.attention_block import (
    BlockParameters,
    Stages,
    block_parameters,
    compute_stages,
    differences,
    stages_of,
)

from . import TranslationRequest, _cached, recorded, translator


@_cached(max_entries=32, show_spinner="Reading the block …")
def stages(request: TranslationRequest, kind: str, layer: int) -> tuple[Stages, BlockParameters, dict[str, float]]:
    """One attention block's stages for a text, what it has learned, and how closely both agree."""
    model = translator(request.checkpoint).model
    parameters = block_parameters(model, kind, layer)
    shown = stages_of(model, recorded(request)[1], kind, layer)
    computed = compute_stages(shown.residual, shown.memory if kind == "cross" else None, shown.unmasked, parameters)
    return shown, parameters, differences(shown, computed)
