"""From a configuration and a corpus to a checkpoint (paper, section 5)."""
