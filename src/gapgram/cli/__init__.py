"""The command line: one file a command, each over an importable function.

    main        finds and runs a command, turns errors into sentences
    commands    the names of all commands by group, with a summary each
    options     what several commands share
"""
