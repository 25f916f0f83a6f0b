"""Training: how does a model come to attend as it does?"""

from ui.navigation import chosen
from views.training.page import show_page

show_page(chosen())
