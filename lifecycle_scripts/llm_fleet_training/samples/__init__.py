"""Which tokens a step reads: the tokens that `tokenize` left, in an order that the seed and the step alone decide."""
