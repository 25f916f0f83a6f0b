"""What test_atlas_on_ray.py runs in a process of its own: an atlas on two actors of Ray, one of which is killed.

python -m support.ray_atlas GRAVE ARGUMENTS: GRAVE is a file that is there once the actor is dead.
"""

import sys

from support.atlases import Dying

from transformer.__main__ import main
from transformer.data import engines

if __name__ == "__main__":
    grave, *arguments = sys.argv[1:]
    run = engines.Ray.run
    engines.Ray.run = lambda self, work, tasks: run(self, Dying(work, grave), tasks)
    sys.exit(main(arguments))
