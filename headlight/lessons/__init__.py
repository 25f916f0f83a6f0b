"""Lessons: files of steps whose right answers are measured on the model and the sentence that are loaded."""
