"""Trainers of LAMAR."""
