"""What if: what does the model translate when something inside it is changed?"""

from ui.navigation import show

show("what_if")
