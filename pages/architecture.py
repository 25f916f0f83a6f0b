"""Architecture: what is the model made of, and what does each part do to this sentence?"""

from ui.navigation import show

show("architecture")
