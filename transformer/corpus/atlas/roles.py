"""Roles of heads by an atlas: the counts of `head_roles` over its corpus."""

from pathlib import Path

import numpy as np

from ...interpret.head_patterns import Pattern
from ...model.transformer import Transformer
from ..head_roles import ROLES_FILE, HeadRoles, load_roles
from .atlas import NEVER, Atlas, Role, find_atlas


def roles_of(atlas: Atlas) -> HeadRoles:
    """Return the counts of an atlas for the patterns of every head."""
    counts = {
        kind: np.array(
            [
                [[_counts(entry.roles.get(pattern, NEVER)) for pattern in Pattern] for entry in layer]
                for layer in layers
            ],
            dtype=np.int64,
        )
        for kind, layers in atlas.heads.items()
    }
    labelled, rows, eligible = ({kind: each[..., at] for kind, each in counts.items()} for at in range(3))
    return HeadRoles(", ".join(atlas.provenance.pairs), atlas.sentences_measured, labelled, rows, eligible)


def find_roles(folder: Path, model: Transformer) -> HeadRoles | None:
    """Return the roles in a checkpoint's folder, by its atlas where there is one; None where neither was measured.

    Raises CheckpointError for a file that cannot be read.
    """
    if atlas := find_atlas(folder, model):
        return roles_of(atlas)
    path = folder / ROLES_FILE
    return load_roles(path, model) if path.is_file() else None


def _counts(role: Role) -> tuple[int, int, int]:
    return role.labelled, role.rows, role.eligible
