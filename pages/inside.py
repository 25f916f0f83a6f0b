"""Inside attention: where does each number of an attention block come from?"""

from ui.navigation import chosen
from views.inside.page import show_page

show_page(chosen())
