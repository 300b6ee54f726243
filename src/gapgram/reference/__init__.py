"""The equations, literally, in slow plain Python: the specification that the kernels must equal.

Read `counts`, then `discounts`, then `model` beside the paper. Nothing here is used to train or query a
model; the tests compare it with the kernels for ever.
"""
