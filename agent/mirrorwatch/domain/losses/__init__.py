"""Records of a flow that are lost for good."""
