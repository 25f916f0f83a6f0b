from .content import live_file as live_file
from .offer import offer_model as offer_model
from .replay import find_replay as find_replay
from .site import write_site as write_site
