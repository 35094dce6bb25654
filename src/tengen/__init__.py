"""Tengen: the AlphaGo family in one Python package, fast on a laptop and ready to grow to a cluster."""

__version__ = "0.1.0"
