"""The experiments of Chen et al., section 7, computed exactly, and what we set beside them."""
