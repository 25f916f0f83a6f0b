"""Questions: what students wrote into their notebooks, answered with the loaded model."""

from ui.navigation import chosen
from views.questions.page import show_page

show_page(chosen())
