"""Interventions beside the unchanged run."""
