"""Speed: workloads with forced lengths, compared with the roofline and with TRL."""
