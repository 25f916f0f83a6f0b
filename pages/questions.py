"""Questions: what students wrote into their notebooks, answered with the loaded model."""

from ui.navigation import show

show("questions")
