"""Token ids in, token ids and log-probs out: generation, attention, packing, kernels, counter-based random numbers."""
