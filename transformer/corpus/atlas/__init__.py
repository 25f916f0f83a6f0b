"""Atlas of heads: measures, roles and examples of each attention head over a whole corpus."""
