"""`python -m gapgram` is the `gapgram` command."""

from gapgram.cli.main import main

if __name__ == "__main__":
    main()
