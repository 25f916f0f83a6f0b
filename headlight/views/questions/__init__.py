"""Questions: what students ask, answered with the loaded model."""
