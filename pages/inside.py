"""Inside attention: where does each number of an attention block come from?"""

from ui.navigation import show

show("inside")
