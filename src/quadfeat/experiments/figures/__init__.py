"""One module per figure or claim of the paper."""
