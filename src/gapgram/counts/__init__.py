"""The tables of counts: what they are, how they are put together and laid out.

    counts          the counts of all patterns of a lattice
    about           what a maker says of a model
    assemble        tables from pieces in memory
    streaming       tables from pieces one after the other, to a file
    layouts         fast and compact
    compact         tables in the compact layout
    file            counts from a file, checked
    check_meaning   whether tables are those of counts
"""
