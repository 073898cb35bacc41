"""One file for each kind of fact that is read from outside."""
