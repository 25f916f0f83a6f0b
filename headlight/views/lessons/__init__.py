"""Lessons: the list of them, what a teacher needs, worksheets, and questions that are asked often."""
