"""Of machines, not of language.

    parallel        threads: work on all cores, in order, or ahead of who needs it
    one_at_a_time   objects that change and may be used from several threads
    atomic_file     files that are written aside and renamed
    array_file      the file format: named arrays and a table of contents, written
    array_reading   such a file opened: checked before anything in it is believed, mapped
    section_rules   what the sections of a file may be
    array_store     arrays that are filled in memory or in files, whoever fills them
    memory          sizes, what the machine has, what the process holds
    mapped_pages    pages of mapped files given back under a limit of memory
    work_folder     temporary files of a run that can be resumed
    progress        bars
    download        a file fetched from an address, whole and with its digest
"""
