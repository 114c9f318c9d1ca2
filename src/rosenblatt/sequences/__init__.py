"""Linear models of sequences of tags: features of tokens, and the chain that they and the transitions between tags make."""
