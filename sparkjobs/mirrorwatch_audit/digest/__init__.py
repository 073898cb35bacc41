"""Reading records and summing them up."""
