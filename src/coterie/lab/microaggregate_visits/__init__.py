"""Records of visits microaggregated as paper 004 has it: a reproduction, kept honest and not recommended."""
