"""Training: how does a model come to attend as it does?"""

from ui.navigation import show

show("training")
