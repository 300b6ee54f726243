"""Models of gapgram, one a file: `gapgram.load("en")`, `gapgram predict en "the end of"`."""
