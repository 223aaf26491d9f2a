"""The demo of LAMAR."""
