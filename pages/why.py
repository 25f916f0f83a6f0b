"""Why this token: what does each token of a translation depend on?"""

from ui.navigation import show

show("why")
