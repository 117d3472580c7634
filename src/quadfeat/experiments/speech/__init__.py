"""Speech: the phone recognition task of Figs. 2b and 2c.

- `utterances`: the phone sets, and utterances whose frames are labelled with them.
- `front_end`: from sound to log-mel frames, stacked or projected on linear discriminants.
- `corpus`: reads the packed sample, or TIMIT in its own layout.
- `kernel_rows`: the ANOVA kernel of both figures, and the error of a map on unseen speakers.
- `recogniser`: the task, and a logistic model of states on features.
- `references`: a linear model and a neural network, to compare with.
- `decoding`: phone bigram, Viterbi search and edit distance.
"""
