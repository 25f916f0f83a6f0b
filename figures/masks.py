"""A mask as a grid: open cells filled, closed cells blank."""

import numpy as np
import plotly.graph_objects as go

from .cells import BLANK, Labels, cells_figure, cells_heatmap
from .style import token_label

ROOM_OF_A_THIRD = 300  # pixels, three maps side by side at a desk; a phone has more for one

_OPEN = [[0.0, "rgba(31, 119, 224, 0.55)"], [1.0, "rgba(31, 119, 224, 0.55)"]]


def mask_figure(
    open_cells: np.ndarray, tokens: tuple[str, ...], closed_by: dict[str, np.ndarray], room: int = ROOM_OF_A_THIRD
) -> go.Figure:
    """open_cells: [target, target], True = may attend, among the tokens that the decoder was fed.

    closed_by: why a cell is closed, in words for the hover, with the cells of which that is true. room: pixels for
    its width.
    """
    labels = Labels(tokens, tokens, "query: target token fed", "key: target token fed", room)
    names = [token_label(token) for token in tokens]
    hover = [
        [_hover(names, row, key, open_cells[row, key], closed_by) for key in range(len(tokens))]
        for row in range(len(tokens))
    ]
    z = np.where(open_cells, 1.0, BLANK)
    return cells_figure([cells_heatmap(z, _OPEN, (0, 1), hover)], labels)


def _hover(names: list[str], row: int, key: int, is_open: bool, closed_by: dict[str, np.ndarray]) -> str:
    who = f"Token {row + 1} “{names[row]}”"
    whom = f"token {key + 1} “{names[key]}”"
    if is_open:
        return f"{who}<br>may read {whom}"
    reasons = " and ".join(reason for reason, cells in closed_by.items() if cells[row, key])
    return f"{who}<br>may not read {whom}:<br>{reasons}"
