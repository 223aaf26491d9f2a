"""Answers from contexts."""
