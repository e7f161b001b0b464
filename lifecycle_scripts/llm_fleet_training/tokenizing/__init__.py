"""From text to tokens: units of the data set, side by side, and one file of their tokens in their order."""
