"""Text to model in one call.

    train           the call
    run             one training run, on any engine
    limits          its memory, disk and work folder
    choose_classes  its word classes
    spark_options   where and how to count with Spark
"""
