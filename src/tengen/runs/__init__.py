"""What long computations share: folders that can be resumed after a kill, settings, progress."""
