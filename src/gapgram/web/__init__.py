"""The service and its page: models asked over HTTP, by people and by programs (extra `web`).

    server      from the paths of models to a running service
    app         routes, and what is said when something is wrong
    guard       what every request passes first: its host, its size, its time
    connections how long a connection may wait, and which make room
    requests    what can be asked
    responses   what is answered
    limits      how much of it
    readers     sessions that have read the text before a question
    served      a model as the service holds it
    pool        computing beside the network, with a time limit
    lattices    where a probability comes from
    examples    texts to begin with, from held-out text or written by a model
    page        the files of the page; they are in `static`
    alone       the same page without a service: what asks models there is in `static_alone` and `wasm`
"""
