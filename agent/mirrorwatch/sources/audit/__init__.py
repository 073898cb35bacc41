"""The nightly audit: started in processes of its own, its results read."""
