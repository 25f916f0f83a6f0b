"""An atlas on a real Ray of two actors, one of which is killed: the files of one process, to the last byte.

Then, in the same process, `heads` over a corpus that the driver can read and the actors cannot: a sentence.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.atlases import files_in
from support.tiny import make_pairs, write_pairs

from transformer.__main__ import main
from transformer.checkpoint import save_checkpoint

ROOT = Path(__file__).parents[4]


def test_two_actors_of_ray_one_of_them_killed_make_the_same(tmp_path, translator, command_line):
    save_checkpoint(tmp_path / "checkpoint", translator.checkpoint)
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(2000, 5))
    shared = ["atlas", "--checkpoint", str(tmp_path / "checkpoint"), "--pairs", str(pairs), "--shards", "4"]
    grave = tmp_path / "grave"
    done = subprocess.run(
        [sys.executable, "-m", "support.ray_atlas", str(grave), str(tmp_path / "heads.json"), *shared]
        + ["--out", str(tmp_path / "two"), "--engine", "ray", "--workers", "2"],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            "RAY_AUTH_MODE": "disabled",
            "RAY_raylet_start_wait_time_s": "300",  # a machine that is busy with other things takes longer
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert grave.exists(), "an actor was killed"
    assert "4 of 4 shards were computed here" in done.stderr
    assert main([*shared, "--out", str(tmp_path / "one"), "--workers", "1"]) == 0
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")
    (refusal,) = [line for line in done.stderr.splitlines() if line.startswith("headlight: ")]
    assert re.fullmatch(r"headlight: The corpus .*gone.tsv cannot be read: No such file or directory\.", refusal)
    assert "Traceback" not in done.stderr
