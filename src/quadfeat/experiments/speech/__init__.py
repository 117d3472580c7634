"""The speech task of Figs. 2b and 2c: corpus, front end, recogniser, decoding."""
