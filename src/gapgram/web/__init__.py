"""The service and its page: models asked over HTTP, by people and by programs (extra `web`)."""
