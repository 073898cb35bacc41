"""Metrics and their figures: one file for each subject."""
