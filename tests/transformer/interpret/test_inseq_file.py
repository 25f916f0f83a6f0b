"""A trace in inseq's layout: read back by its schema (inseq 0.7), every number is the trace's own."""

import base64
import json

import numpy as np
from safetensors.numpy import load


def decode(value):
    """Return the attributes of an instance, and of what it holds."""
    if isinstance(value, dict):
        value = value.get("attributes", value)
        return {name: decode(each) for name, each in value.items()}
    return [decode(each) for each in value] if isinstance(value, list) else value


def tensor(text: str) -> np.ndarray:
    """Return a score with layers and heads first, as in a trace."""
    return load(base64.b64decode(text))["attribution"].transpose(2, 3, 1, 0)


def test_inseqs_layout_holds_the_traces_numbers(translator, tmp_path):
    trace, path = translator.trace("big red dog.", target="rot Hund"), tmp_path / "out.json"
    trace.to_inseq(path)
    stored = json.loads(path.read_text("utf-8"))
    assert stored["__instance_type__"] == ["inseq.data.attribution", "FeatureAttributionOutput"]
    output = decode(stored)
    (sequence,) = output["sequence_attributions"]
    assert [each["token"] for each in sequence["source"]] == list(trace.source_tokens)
    assert [each["id"] for each in sequence["target"]] == [trace.decoder_input_ids[0], *trace.target_ids]
    assert (sequence["attr_pos_start"], sequence["attr_pos_end"]) == (1, len(trace.target_ids) + 1)
    np.testing.assert_array_equal(tensor(sequence["source_attributions"]), trace.cross)
    np.testing.assert_array_equal(tensor(sequence["sequence_scores"]["encoder_self_attentions"]), trace.encoder)
    decoder = tensor(sequence["target_attributions"])
    assert np.isnan(decoder[..., -1]).all()  # no step attends to the last token
    np.testing.assert_array_equal(np.nan_to_num(decoder[..., :-1]), trace.decoder)
    assert output["info"]["generated_texts"] == [trace.target_text]
