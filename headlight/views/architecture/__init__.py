"""Architecture: what the model is made of, and what each part does to a sentence."""
