"""Architecture: what is the model made of, and what does each part do to this sentence?"""

from ui.navigation import chosen
from views.architecture.page import show_page

show_page(chosen())
