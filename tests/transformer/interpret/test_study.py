"""A study: measures computed once, shared by threads, equal to those of the functions, within the memo's bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
from support.models import word_translator

from transformer import Beam, Decoding, Greedy, Sampling, Study, Translator, UserError
from transformer.interpret.activations import Request, record
from transformer.interpret.attention_block import record_stages
from transformer.interpret.attribution import gradient_times_input, leave_one_out
from transformer.interpret.memo import Memo, bytes_of
from transformer.interpret.residual import logit_lens, record_residual_stream
from transformer.interpret.rollout import alti
from transformer.interpret.score_parts import explain_score
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Mean, Uniform, Zero
from transformer.interpret.what_if.logit_attribution import attribute_logit
from transformer.interpret.what_if.score_without import score_without
from transformer.model.head_ref import HeadRef
