"""The tests of other libraries, run from their installed packages with our classes in place of theirs."""
